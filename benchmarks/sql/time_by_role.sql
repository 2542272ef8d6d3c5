-- Milliseconds that statements in this database took since the last reset: those of role %(role)s, and all.
SELECT coalesce(sum(s.total_exec_time) FILTER (WHERE r.rolname = %(role)s), 0)::float8, sum(s.total_exec_time)::float8
FROM pg_stat_statements AS s JOIN pg_roles AS r ON r.oid = s.userid
WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
