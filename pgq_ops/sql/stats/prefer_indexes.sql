-- For this transaction: read through an index wherever one fits, whatever the planner believes of a state's share.
-- Returns now() in epoch seconds.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
       extract(epoch FROM now())::float8
