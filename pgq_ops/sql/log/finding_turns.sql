-- What the findings %(ids)s said, from when on (epoch seconds), the latest first, at most %(most)s.
SELECT c.finding_id, extract(epoch FROM c.at)::float8, c.severity, c.summary, c.evidence, c.remedy
FROM pgq_ops.finding_change AS c
WHERE c.finding_id = ANY (%(ids)s::bigint[])
ORDER BY c.at DESC
LIMIT %(most)s
