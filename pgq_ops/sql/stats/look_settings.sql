-- For this transaction: whether a look may scan a whole table and sort it (%(scanning)s, 'on' or 'off'). Off, it reads
-- through an index wherever one fits, whatever the planner believes of a state's share. Returns now() in epoch seconds.
SELECT extract(epoch FROM pg_catalog.now())::float8,
       pg_catalog.set_config('enable_seqscan', %(scanning)s, true),
       pg_catalog.set_config('enable_sort', %(scanning)s, true)
