-- When agents of any mode looked at job tables, within the time that is remembered (epoch seconds), the earliest first.
-- %(names)s are names of job tables, NULL for all.
SELECT w.job_table, extract(epoch FROM w.began_at)::float8, extract(epoch FROM w.last_at)::float8
FROM pgq_ops.watch AS w
WHERE %(names)s::text[] IS NULL OR w.job_table = ANY (%(names)s::text[])
ORDER BY w.began_at
