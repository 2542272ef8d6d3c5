-- Close what agents in another mode than %(mode)s, or that called it otherwise than %(job_table)s, left open on the table
-- %(table_oid)s and have not confirmed for %(gap)s seconds, as of when they saw it last: from then on this agent tells
-- what is there.
UPDATE pgq_ops.finding AS f
SET closed_at = f.last_seen_at
WHERE f.table_oid = %(table_oid)s::oid AND (f.mode <> %(mode)s OR f.job_table <> %(job_table)s)
  AND f.closed_at IS NULL
  AND f.last_seen_at < pg_catalog.now() - pg_catalog.make_interval(secs => %(gap)s)
