-- Findings that were there at some time from %(since)s until %(until)s, the latest first, at most %(most)s. One that
-- nobody closed counts if it was seen at %(seen_since)s or later. %(names)s are names of job tables, NULL for all.
-- All times in epoch seconds, as parameters and as columns.
SELECT f.id, f.job_table, f.mode, f.finding, extract(epoch FROM f.opened_at)::float8,
       extract(epoch FROM f.last_seen_at)::float8, extract(epoch FROM f.closed_at)::float8, f.returns,
       f.worst_severity, f.severity, f.summary, f.evidence, f.remedy
FROM pgq_ops.finding AS f
WHERE f.opened_at <= pg_catalog.to_timestamp(%(until)s)
  AND (f.closed_at >= pg_catalog.to_timestamp(%(since)s)
       OR f.closed_at IS NULL AND f.last_seen_at >= pg_catalog.to_timestamp(%(seen_since)s))
  AND (%(names)s::text[] IS NULL OR f.job_table = ANY (%(names)s::text[]))
ORDER BY f.opened_at DESC, f.id DESC
LIMIT %(most)s
