-- The open findings of the table %(table_oid)s, called %(job_table)s in the config, that agents in mode %(mode)s saw, each as its latest change tells it:
-- id, finding, severity, summary, evidence, remedy, the number of its changes.
SELECT f.id, f.finding, f.severity, c.summary, c.evidence, c.remedy, c.number
FROM pgq_ops.finding AS f
CROSS JOIN LATERAL (
    SELECT l.summary, l.evidence, l.remedy, pg_catalog.count(*) OVER () AS number
    FROM pgq_ops.finding_change AS l WHERE l.finding_id = f.id ORDER BY l.at DESC LIMIT 1
) AS c
WHERE f.table_oid = %(table_oid)s::oid AND f.job_table = %(job_table)s AND f.mode = %(mode)s AND f.closed_at IS NULL
