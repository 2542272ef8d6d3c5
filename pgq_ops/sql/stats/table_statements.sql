-- The statements of this database in which a table's name (%(name)s) stands, and that take or change rows: the text, its
-- calls, their rows, whether a client sent it itself (not a function), and who. The most called first, %(limit)s at most.
-- {view} is pg_stat_statements. Those that are pgq-ops' own ({is_own_statement}) are left out.
SELECT s.query, s.calls::bigint, s.rows::bigint, s.toplevel, pg_catalog.pg_get_userbyid(s.userid)::text
FROM {view} AS s
WHERE s.dbid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
  AND pg_catalog.strpos(pg_catalog.lower(s.query), pg_catalog.lower(%(name)s)) > 0
  AND s.query ~* '\m(update|delete)\M'
  AND NOT {is_own_statement}
ORDER BY s.calls DESC
LIMIT %(limit)s
