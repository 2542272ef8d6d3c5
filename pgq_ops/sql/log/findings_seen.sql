-- Remember that open findings were still there %(ago)s seconds ago: %(seen)s is a JSON array of objects with id,
-- summary, evidence and remedy. The job table is called %(job_table)s by now. Returns the ids of those that are open.
UPDATE pgq_ops.finding AS f
SET last_seen_at = now() - make_interval(secs => %(ago)s), job_table = %(job_table)s,
    summary = s.summary, evidence = s.evidence, remedy = s.remedy
FROM jsonb_to_recordset(%(seen)s::jsonb) AS s(id bigint, summary text, evidence jsonb, remedy text)
WHERE f.id = s.id AND f.closed_at IS NULL
RETURNING f.id
