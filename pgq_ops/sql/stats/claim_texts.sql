-- The statements with SKIP LOCKED that were run in this database, the most called first, at most %(limit)s; without
-- pgq-ops' own ({is_own_statement}). {statements} is the function of the extension; with texts it reads a file.
SELECT s.userid::bigint, s.queryid, s.query
FROM {statements}(true) AS s
WHERE s.dbid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
  AND s.query ~* 'skip\s+locked'
  AND NOT {is_own_statement}
ORDER BY s.calls DESC
LIMIT %(limit)s
