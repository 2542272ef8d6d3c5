-- Whether the dead-letter table can be written at all right now, as lock_table asks of the job table.
EXPLAIN INSERT INTO {dead_letter_table} ({column}) OVERRIDING SYSTEM VALUE SELECT NULL WHERE false
