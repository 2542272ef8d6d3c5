-- As job_history, of all jobs whose key has several columns of which the first, as text, is %(job)s.
SELECT pg_catalog.to_jsonb(l.at) #>> '{{}}'::text[], extract(epoch FROM pg_catalog.now() - l.at)::float8, l.outcome, l.owner, l.attempt
FROM pgq_ops.reap_log AS l
WHERE l.table_oid = %(table_oid)s::oid AND pg_catalog.starts_with(l.job, pg_catalog.rtrim(ROW(%(job)s::text, NULL)::text, ')'))
ORDER BY l.at DESC, l.id DESC
LIMIT %(limit)s
