-- Cancels what a session (%(pid)s) is at, if somebody waits for a lock that it holds. One row for the first who waits, by
-- application, pid and seconds; none where nobody does. Waits for no lock itself.
WITH lock AS MATERIALIZED (
    SELECT l.pid, l.locktype, l.database, l.relation, l.page, l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid,
           l.objsubid, l.granted, l.waitstart
    FROM pg_locks AS l
),
waiter AS MATERIALIZED (
    SELECT w.pid, pg_catalog.min(w.waitstart) AS since
    FROM lock AS h
    JOIN lock AS w
      ON NOT w.granted AND w.pid <> h.pid AND w.locktype = h.locktype
     AND ROW(w.database, w.relation, w.page, w.tuple, w.virtualxid, w.transactionid, w.classid, w.objid, w.objsubid)
         IS NOT DISTINCT FROM ROW(h.database, h.relation, h.page, h.tuple, h.virtualxid, h.transactionid, h.classid, h.objid, h.objsubid)
    WHERE h.pid = %(pid)s AND h.granted
    GROUP BY w.pid
),
first AS MATERIALIZED (
    SELECT w.pid, w.since
    FROM waiter AS w
    WHERE %(pid)s = ANY (pg_catalog.pg_blocking_pids(w.pid))
    ORDER BY w.since LIMIT 1
)
SELECT coalesce((SELECT a.application_name FROM pg_catalog.pg_stat_get_activity(f.pid) AS a), ''), f.pid,
       greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - f.since))::float8,
       pg_catalog.pg_cancel_backend(%(pid)s)
FROM first AS f
