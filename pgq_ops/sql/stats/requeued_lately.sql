-- How many jobs of a table (%(oid)s) were requeued within %(within)s seconds, by the newest %(limit)s entries of the log;
-- and whether the oldest of those is younger than that, so that there may be more.
SELECT pg_catalog.count(*) FILTER (WHERE l.table_oid = %(oid)s::oid AND l.outcome = 'requeued'
                                     AND l.at > pg_catalog.now() - pg_catalog.make_interval(secs => %(within)s)),
       pg_catalog.count(*) >= %(limit)s AND pg_catalog.min(l.at) > pg_catalog.now() - pg_catalog.make_interval(secs => %(within)s)
FROM (SELECT r.table_oid, r.outcome, r.at FROM pgq_ops.reap_log AS r ORDER BY r.id DESC LIMIT %(limit)s) AS l
