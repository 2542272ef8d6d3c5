-- A table (%(oid)s) that is not partitioned, as attached_tables gives those of one that is.
SELECT %(oid)s::oid AS oid
