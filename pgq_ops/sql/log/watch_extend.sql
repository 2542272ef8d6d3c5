-- Remember that an agent in mode %(mode)s looks at the table %(table_oid)s, called %(job_table)s in the config, now.
-- A stretch of time that ended less than %(gap)s seconds ago goes on, else a new one begins.
-- %(host)s and %(pid)s say which process looks.
WITH pgq_ops_longer AS (
    UPDATE pgq_ops.watch AS w
    SET last_at = pg_catalog.now(), host = %(host)s, pid = %(pid)s
    WHERE w.id = (SELECT l.id FROM pgq_ops.watch AS l
                  WHERE l.table_oid = %(table_oid)s::oid AND l.job_table = %(job_table)s AND l.mode = %(mode)s
                    AND l.last_at > pg_catalog.now() - pg_catalog.make_interval(secs => %(gap)s)
                  ORDER BY l.last_at DESC LIMIT 1)
    RETURNING w.id
)
INSERT INTO pgq_ops.watch (table_oid, job_table, mode, began_at, last_at, host, pid)
SELECT %(table_oid)s, %(job_table)s, %(mode)s, pg_catalog.now(), pg_catalog.now(), %(host)s, %(pid)s
WHERE NOT EXISTS (SELECT FROM pgq_ops_longer)
