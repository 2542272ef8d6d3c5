-- The running jobs whose lease is over. Parameters: lease_seconds (from the start), grace_seconds.
-- Returns id, version, when it was over with its grace, and the time, both in microseconds of the epoch.
SELECT id, attempts, (extract(epoch FROM started_at) * 1000000 + (%(lease_seconds)s + %(grace_seconds)s) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM soak_started
WHERE status = 'running' AND started_at + make_interval(secs => %(lease_seconds)s + %(grace_seconds)s) <= clock_timestamp()
