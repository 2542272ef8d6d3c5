-- The counters of some statements (%(queryids)s, bigint array) that were run in this database, by role: calls, seconds
-- of execution, rows. {statements} is the function of the extension, {milliseconds} its column of the time. No texts.
SELECT s.userid::bigint, s.queryid, sum(s.calls)::bigint, sum(s.{milliseconds}) / 1000, sum(s.rows)::bigint
FROM {statements}(false) AS s
WHERE s.dbid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  AND s.queryid = ANY (%(queryids)s::bigint[])
GROUP BY 1, 2
