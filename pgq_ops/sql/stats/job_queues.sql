-- The queues of the jobs of one id, NULL for none. At most %(limit)s.
SELECT DISTINCT s.pgq_ops_queue
FROM (SELECT {queue} AS pgq_ops_queue FROM {table} AS j WHERE {condition} LIMIT %(limit)s) AS s
