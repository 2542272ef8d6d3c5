-- Whether the table can be written at all right now: 55P03 after the lock timeout where somebody holds or waits for it.
-- Only planned, which takes the lock of an UPDATE and needs the privilege on {column} alone; LOCK TABLE would need it
-- on the whole table.
EXPLAIN UPDATE {table} SET {column} = DEFAULT WHERE false
