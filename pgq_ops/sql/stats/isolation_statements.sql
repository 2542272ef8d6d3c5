-- The statements of this database that set an isolation level above Read Committed for transactions that write, or a
-- level that their text no longer tells ($1): the text, its calls, and who. One row at least, whose first column says
-- whether such statements are counted at all (pg_stat_statements.track_utility). {view} is pg_stat_statements.
SELECT pg_catalog.current_setting('pg_stat_statements.track_utility')::bool, s.query, s.calls::bigint,
       pg_catalog.pg_get_userbyid(s.userid)::text
FROM (SELECT) AS once
LEFT JOIN {view} AS s
       ON s.dbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
      AND s.query ~* '^[\s(]*(/\*.*\*/\s*)?(begin|start\s+transaction|set)\M.*\m((default_)?transaction_isolation|isolation)\M'
      AND s.query ~* '\m(repeatable\s+read|serializable)\M|\$\d' AND s.query !~* '\mread\s+only\M'
ORDER BY s.calls DESC NULLS LAST
