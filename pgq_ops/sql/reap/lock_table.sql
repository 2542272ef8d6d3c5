-- Whether the table can be written at all right now: fails at once (55P03) where somebody holds or waits for it.
LOCK TABLE {table} IN ROW EXCLUSIVE MODE NOWAIT
