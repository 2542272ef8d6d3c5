-- For how many seconds pg_stat_statements has been counting; {info} is pg_stat_statements_info.
SELECT extract(epoch FROM pg_catalog.now() - i.stats_reset)::float8 FROM {info} AS i
