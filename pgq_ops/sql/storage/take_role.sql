-- Run the statements of this transaction as %(role)s from now on.
SELECT pg_catalog.set_config('role', %(role)s, true)
