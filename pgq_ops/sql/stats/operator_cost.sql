-- What the planner charges for an operator.
SELECT current_setting('cpu_operator_cost')::float8
