-- Whether the reap log can be written at all right now, as lock_table asks of the job table.
EXPLAIN INSERT INTO pgq_ops.reap_log (job) SELECT '' WHERE false
