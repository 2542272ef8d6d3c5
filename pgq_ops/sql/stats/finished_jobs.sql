-- Jobs that finished after %(since)s and no later than %(until)s (epoch seconds), by queue and final state.
SELECT {queue}, {state}, count(*)
FROM {table} AS j
WHERE {after_since} AND {until} AND {is_finished}
GROUP BY 1, 2
