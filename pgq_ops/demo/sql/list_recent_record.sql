-- What was recorded of late, oldest first, with how long the lease had been over. Parameters: seconds (back from now), events.
SELECT seq, event, worker, job, version, extract(epoch FROM at - lease_until)::double precision
FROM demo_record
WHERE at > pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => %(seconds)s) AND event = ANY (%(events)s)
ORDER BY seq
