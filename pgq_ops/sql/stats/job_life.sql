-- Everything that is known of the jobs of one id, a row each: {columns} are named expressions. At most %(limit)s.
SELECT {columns}
FROM {table} AS j
WHERE {condition} AND {in_policy}
LIMIT %(limit)s
