-- Forget tasks that have not run for %(keep_seconds)s seconds: their job table or their section is gone.
DELETE FROM pgq_ops.task WHERE last_run_at < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s)
