-- Remember what the open finding %(id)s says since %(ago)s seconds: %(severity)s, %(summary)s, %(evidence)s (JSON),
-- %(remedy)s. Returns the id; no row where it is open no longer.
WITH pgq_ops_changed AS (
    UPDATE pgq_ops.finding AS f
    SET last_seen_at = pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s), severity = %(severity)s,
        worst_severity = (ARRAY['info', 'warning', 'critical'])[GREATEST(
            pg_catalog.array_position(ARRAY['info', 'warning', 'critical'], f.worst_severity),
            pg_catalog.array_position(ARRAY['info', 'warning', 'critical'], %(severity)s::text))],
        summary = %(summary)s, evidence = %(evidence)s::jsonb, remedy = %(remedy)s
    WHERE f.id = %(id)s AND f.closed_at IS NULL
    RETURNING f.id
)
INSERT INTO pgq_ops.finding_change (finding_id, at, severity, summary, evidence, remedy)
SELECT c.id, pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s), %(severity)s, %(summary)s, %(evidence)s::jsonb, %(remedy)s
FROM pgq_ops_changed AS c
RETURNING finding_id
