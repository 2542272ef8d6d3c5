-- The counters of some statements (%(queryids)s, bigint array) that were run in this database, by role: calls, seconds
-- of execution, rows, and since when (epoch seconds; 0 where the extension does not say). {statements} is the function of
-- the extension, {milliseconds} its column of the time, {since} that of the beginning. No texts.
SELECT s.userid::bigint, s.queryid, pg_catalog.sum(s.calls)::bigint,
       pg_catalog.sum(s.{milliseconds}) / 1000::float8, pg_catalog.sum(s.rows)::bigint, {since}
FROM {statements}(false) AS s
WHERE s.dbid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
  AND s.queryid = ANY (%(queryids)s::bigint[])
GROUP BY 1, 2
