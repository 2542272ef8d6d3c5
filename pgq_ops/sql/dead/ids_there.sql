-- The ids of the dead letters that a filter means, each once.
SELECT DISTINCT {shown_id} FROM {table} AS j WHERE {condition}
