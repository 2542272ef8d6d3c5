-- The addresses of the next %(page)s dead letters of a condition, in the order of the key, each part as text.
SELECT {key_texts}
FROM {table} AS j
WHERE {condition} AND {after}
ORDER BY {key_columns}
LIMIT %(page)s
