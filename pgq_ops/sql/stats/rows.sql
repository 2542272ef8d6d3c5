-- The rows of a condition. Only planned, never run: the planner's estimate and cost are what is asked for.
SELECT FROM {table} AS j WHERE {condition}
