-- Remember that %(finding)s of the table %(table_oid)s, called %(job_table)s in the config, is there since %(ago)s
-- seconds, as an agent in mode %(mode)s saw it: %(severity)s, %(summary)s, %(evidence)s (JSON), %(remedy)s.
-- One that closed less than %(gone)s seconds before is open again, one that another agent opened meanwhile stays one.
-- %(host)s and %(pid)s say which process saw it. Returns the id.
WITH pgq_ops_back AS (
    UPDATE pgq_ops.finding AS f
    SET closed_at = NULL, returns = f.returns + 1, last_seen_at = pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s),
        severity = %(severity)s,
        worst_severity = (ARRAY['info', 'warning', 'critical'])[GREATEST(
            pg_catalog.array_position(ARRAY['info', 'warning', 'critical'], f.worst_severity),
            pg_catalog.array_position(ARRAY['info', 'warning', 'critical'], %(severity)s::text))],
        summary = %(summary)s, evidence = %(evidence)s::jsonb, remedy = %(remedy)s, host = %(host)s, pid = %(pid)s
    WHERE f.closed_at IS NOT NULL
      AND f.id = (SELECT r.id FROM pgq_ops.finding AS r
                  WHERE r.table_oid = %(table_oid)s::oid AND r.job_table = %(job_table)s AND r.mode = %(mode)s
                    AND r.finding = %(finding)s
                    AND r.closed_at > pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s::float8 + %(gone)s::float8)
                    AND NOT EXISTS (SELECT FROM pgq_ops.finding AS o
                                    WHERE o.table_oid = r.table_oid AND o.job_table = r.job_table AND o.mode = r.mode
                                      AND o.finding = r.finding AND o.closed_at IS NULL)
                  ORDER BY r.closed_at DESC LIMIT 1)
    RETURNING f.id
), pgq_ops_made AS (
    INSERT INTO pgq_ops.finding AS f (table_oid, job_table, mode, finding, opened_at, last_seen_at, severity,
                                      worst_severity, summary, evidence, remedy, host, pid)
    SELECT %(table_oid)s, %(job_table)s, %(mode)s, %(finding)s, pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s),
           pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s), %(severity)s, %(severity)s, %(summary)s, %(evidence)s::jsonb,
           %(remedy)s, %(host)s, %(pid)s
    WHERE NOT EXISTS (SELECT FROM pgq_ops_back)
    ON CONFLICT (table_oid, job_table, mode, finding) WHERE closed_at IS NULL
    DO UPDATE SET last_seen_at = excluded.last_seen_at
    RETURNING f.id
)
INSERT INTO pgq_ops.finding_change (finding_id, at, severity, summary, evidence, remedy)
SELECT there.id, pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s), %(severity)s, %(summary)s, %(evidence)s::jsonb, %(remedy)s
FROM (SELECT id FROM pgq_ops_back UNION ALL SELECT id FROM pgq_ops_made) AS there
RETURNING finding_id
