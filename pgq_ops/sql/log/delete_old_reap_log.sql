-- Forget up to %(batch)s of the oldest entries of the reap log that are older than %(keep_seconds)s seconds.
-- Ids rise with time, so the primary key finds the oldest and no index on the time is needed.
DELETE FROM pgq_ops.reap_log
WHERE at < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s)
  AND id IN (SELECT oldest.id FROM pgq_ops.reap_log AS oldest ORDER BY oldest.id LIMIT %(batch)s)
