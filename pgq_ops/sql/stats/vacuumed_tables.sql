-- Which tables the vacuums of some processes (%(pids)s, int array) work on, by the lock that each holds on its own.
SELECT l.pid, l.relation::bigint
FROM pg_locks AS l
WHERE l.pid = ANY (%(pids)s::int[]) AND l.locktype = 'relation' AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted
