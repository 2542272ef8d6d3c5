-- What the planner charges for an operator.
SELECT pg_catalog.current_setting('cpu_operator_cost')::float8
