-- The dead letters at some addresses, each as one JSON object, in the order of the addresses: %(key_1)s, %(key_2)s, ...
-- are parallel text arrays. What is no longer dead meanwhile is left out.
SELECT {record}::text
FROM (SELECT {typed_keys}, w.pgq_ops_position
      FROM ROWS FROM ({key_lists}) WITH ORDINALITY AS w({key_names}, pgq_ops_position))
    AS pgq_ops_wanted
JOIN {table} AS j ON {same_row}
WHERE {is_dead}
ORDER BY pgq_ops_wanted.pgq_ops_position
