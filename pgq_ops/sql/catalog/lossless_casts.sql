-- Which of the type pairs (%(sources)s and %(targets)s, text arrays of format_type() names) can be assigned without a
-- loss: the same type, text, or an implicit cast. An assignment cast may round, truncate or fail, as those
-- implicit ones do that lead to names and to floating point. One boolean a pair, in order.
SELECT pair.source = pair.target
       OR pair.target IN ('text', 'character varying')
       OR EXISTS (SELECT FROM pg_cast AS c
                  WHERE c.castsource = pg_catalog.to_regtype(pair.source)::oid
                    AND c.casttarget = pg_catalog.to_regtype(pair.target)::oid
                    AND c.castcontext = 'i' AND pair.target NOT IN ('name', 'real', 'double precision')) AS lossless
FROM unnest(%(sources)s::text[], %(targets)s::text[]) WITH ORDINALITY AS pair(source, target, position)
ORDER BY pair.position
