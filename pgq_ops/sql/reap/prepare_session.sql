-- Settings of the reaper's session, before it goes through a relation.
-- Indexes are used wherever one fits: a wrong statistic is enough for a plan that reads the whole table for each
-- batch. %(may_sort)s ('on' or 'off'): whether a scan that would have to be sorted may be preferred; off where an
-- index gives the page's order, or each batch would read and sort everything that is still to come.
-- A batch that is prepared is planned once: the plan is the same for each page.
-- Commits do not wait for the disk or a standby: a batch that a crash undoes is expired as before and is taken
-- again, and a worker's own commit on a requeued job makes the requeue durable with it.
SELECT pg_catalog.set_config('enable_seqscan', 'off', false),
       pg_catalog.set_config('enable_bitmapscan', %(may_sort)s, false),
       pg_catalog.set_config('enable_sort', %(may_sort)s, false),
       pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false),
       pg_catalog.set_config('synchronous_commit', 'off', false)
