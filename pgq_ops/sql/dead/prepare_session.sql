-- Settings of the session before it goes through a relation. %(scanning)s ('on' or 'off'): whether the planner may read
-- the whole relation; off where an index leads to the dead ones, which a wrong statistic might keep it from using.
SELECT pg_catalog.set_config('enable_seqscan', %(scanning)s, false)
