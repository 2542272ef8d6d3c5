-- What the planner charges for a page read in order, and for a row.
SELECT current_setting('seq_page_cost')::float8, current_setting('cpu_tuple_cost')::float8
