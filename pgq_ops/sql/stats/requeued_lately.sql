-- How many jobs of a table (%(oid)s) were requeued within %(within)s seconds, by the newest %(limit)s entries of the log;
-- and whether the oldest of those is younger than that, so that there may be more.
SELECT count(*) FILTER (WHERE l.table_oid = %(oid)s AND l.outcome = 'requeued' AND l.at > now() - make_interval(secs => %(within)s)),
       count(*) >= %(limit)s AND min(l.at) > now() - make_interval(secs => %(within)s)
FROM (SELECT r.table_oid, r.outcome, r.at FROM pgq_ops.reap_log AS r ORDER BY r.id DESC LIMIT %(limit)s) AS l
