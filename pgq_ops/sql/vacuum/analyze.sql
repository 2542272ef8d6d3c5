-- Analyzes one table, or a partitioned one. A lock that somebody holds on it is a warning and success.
ANALYZE ({options}) {relation}
