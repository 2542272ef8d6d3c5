-- Remember that the parameters of the rows %(rows)s are no longer as pgq-ops set them: %(ending)s is reverted or
-- overridden.
UPDATE pgq_ops.setting AS s
SET ended_at = pg_catalog.now(), ending = %(ending)s
WHERE s.id = ANY (%(rows)s::bigint[]) AND s.ended_at IS NULL
