-- What the planner charges for a page read in order, and for a row.
SELECT pg_catalog.current_setting('seq_page_cost')::float8, pg_catalog.current_setting('cpu_tuple_cost')::float8
