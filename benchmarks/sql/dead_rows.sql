-- Dead rows of the job table, as they are counted.
SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'demo_queue_jobs'
