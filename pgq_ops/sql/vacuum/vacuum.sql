-- Vacuums one table. Outside a transaction; a lock that somebody holds on it is a warning and success.
VACUUM ({options}) {relation}
