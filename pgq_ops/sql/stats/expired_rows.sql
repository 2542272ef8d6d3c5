-- Rows whose lease ran out. Only planned, never run: it tells which index would serve the reaper.
SELECT FROM {table} AS j WHERE {is_running} AND {ran_out}
