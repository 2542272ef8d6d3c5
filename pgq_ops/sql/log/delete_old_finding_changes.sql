-- Forget up to %(batch)s changes of findings that are older than %(keep_seconds)s seconds. The latest of those stays: it
-- says how things were until the next one.
DELETE FROM pgq_ops.finding_change AS d
USING (SELECT c.finding_id, c.at
       FROM pgq_ops.finding_change AS c
       WHERE c.at < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s)
         AND EXISTS (SELECT FROM pgq_ops.finding_change AS later
                     WHERE later.finding_id = c.finding_id AND later.at > c.at
                       AND later.at < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s))
       LIMIT %(batch)s) AS old
WHERE d.finding_id = old.finding_id AND d.at = old.at
