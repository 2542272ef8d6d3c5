-- What the reaper and retries did with the job at the address %(job)s (text) of the table %(table_oid)s, the latest
-- first: when (ISO 8601 in UTC), the seconds since, the outcome, who held it (who retried it), the attempt. At most
-- %(limit)s.
SELECT pg_catalog.to_jsonb(l.at) #>> '{{}}'::text[], extract(epoch FROM pg_catalog.now() - l.at)::float8, l.outcome, l.owner, l.attempt
FROM pgq_ops.reap_log AS l
WHERE l.table_oid = %(table_oid)s::oid AND pg_catalog.left(l.job, 200) = pg_catalog.left(%(job)s::text, 200) AND l.job = %(job)s::text
ORDER BY l.at DESC, l.id DESC
LIMIT %(limit)s
