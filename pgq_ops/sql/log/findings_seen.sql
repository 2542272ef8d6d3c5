-- Remember that open findings were still there %(ago)s seconds ago: %(seen)s is a JSON array of objects with id,
-- summary, evidence and remedy. Returns the ids of those that are open.
UPDATE pgq_ops.finding AS f
SET last_seen_at = pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s),
    summary = s.summary, evidence = s.evidence, remedy = s.remedy
FROM pg_catalog.jsonb_to_recordset(%(seen)s::jsonb) AS s(id bigint, summary text, evidence jsonb, remedy text)
WHERE f.id = s.id AND f.closed_at IS NULL
RETURNING f.id
