-- The publications that carry UPDATEs or DELETEs of tables (%(oids)s, an array of oids), other than by schema: one row a
-- table and publication.
SELECT tables.oid::bigint, p.pubname::text
FROM pg_catalog.unnest(%(oids)s::oid[]) AS tables(oid)
JOIN pg_publication AS p ON p.pubupdate OR p.pubdelete
WHERE p.puballtables OR EXISTS (SELECT FROM pg_publication_rel AS r WHERE r.prpubid = p.oid AND r.prrelid = tables.oid)
ORDER BY 1, 2
