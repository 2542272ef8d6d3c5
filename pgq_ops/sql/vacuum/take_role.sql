-- For this session: be the role %(role)s; `none` is the one that it was logged in as.
SELECT pg_catalog.set_config('role', %(role)s, false)
