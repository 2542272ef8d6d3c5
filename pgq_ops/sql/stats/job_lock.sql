-- Who holds the rows of one id locked now: the row's address, and the session or the prepared transaction (its gid).
-- A row's xmax is a lock, or a change that is not committed, while that transaction runs; one that several sessions
-- hold at once has another kind of number there, and is not told. Without pg_monitor the session's state is NULL.
SELECT {key_text}, l.pid, a.application_name, a.usename::text,
       (SELECT u.rolsuper FROM pg_roles AS u WHERE u.oid = a.usesysid), a.state,
       extract(epoch FROM now() - a.xact_start)::float8, extract(epoch FROM a.xact_start)::text,
       p.gid, p.owner::text, extract(epoch FROM now() - p.prepared)::float8
FROM {table} AS j
JOIN pg_locks AS l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = j.xmax
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
LEFT JOIN pg_prepared_xacts AS p ON p.transaction = j.xmax
WHERE {condition}
LIMIT %(limit)s
