-- The server's settings of these names (%(names)s), those that its version has: name, value in the setting's own unit,
-- and whether somebody chose it (it is not what PostgreSQL comes with).
SELECT s.name, s.setting, s.setting IS DISTINCT FROM s.boot_val
FROM pg_settings AS s
WHERE s.name = ANY (%(names)s)
