-- For this transaction: whether a look may scan a whole table and sort it (%(scanning)s, 'on' or 'off'). Off, it reads
-- through an index wherever one fits, whatever the planner believes of a state's share. Returns now() in epoch seconds.
SELECT extract(epoch FROM now())::float8,
       set_config('enable_seqscan', %(scanning)s, true),
       set_config('enable_sort', %(scanning)s, true)
