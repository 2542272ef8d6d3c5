-- Only planned: whether the expressions {expressions} mean anything over the columns {columns} of a table.
-- {alias} is the name under which the row goes.
EXPLAIN SELECT {expressions} FROM (SELECT {columns} FROM {table} AS j) AS {alias}
