-- For this transaction: rows are read from the table, as by a claim, which locks them; not from an index alone.
SELECT pg_catalog.set_config('enable_indexonlyscan', 'off', true)
