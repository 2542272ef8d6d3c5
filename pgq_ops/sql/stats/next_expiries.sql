-- Of the first %(sample)s running rows the %(limit)s whose leases end next: id, queue, owner, seconds until the end
-- (negative once it is over, NULL for -infinity), attempts. Leases that never end and missing ones are left out, and
-- stale ones, of which there may be many that nobody waits for.
SELECT s.pgq_ops_id, s.pgq_ops_queue, s.pgq_ops_owner,
       CASE WHEN pg_catalog.isfinite(s.pgq_ops_end) THEN extract(epoch FROM s.pgq_ops_end - pg_catalog.now())::float8 END,
       s.pgq_ops_attempts
FROM (
    SELECT {shown_id} AS pgq_ops_id, {queue} AS pgq_ops_queue, {owner} AS pgq_ops_owner, {expires_at} AS pgq_ops_end,
           {attempts} AS pgq_ops_attempts
    FROM {table} AS j
    WHERE {is_running} AND NOT COALESCE({is_stale}, false)
    LIMIT %(sample)s
) AS s
WHERE s.pgq_ops_end < 'infinity'
ORDER BY s.pgq_ops_end
LIMIT %(limit)s
