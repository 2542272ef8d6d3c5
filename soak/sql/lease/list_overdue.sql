-- The running jobs whose lease is over. Parameter: grace_seconds.
-- Returns id, version, when it was over with its grace, and the time, both in microseconds of the epoch.
SELECT id, claim_version, (extract(epoch FROM lease_until) * 1000000 + %(grace_seconds)s * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM soak_lease
WHERE status = 'running' AND lease_until + make_interval(secs => %(grace_seconds)s) <= clock_timestamp()
