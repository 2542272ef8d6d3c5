-- Rows whose lease ran out, by the lease column. Only planned, never run: it tells whether an index gives this order.
SELECT FROM {table} AS j WHERE {is_running} AND {ran_out} ORDER BY {lease}
