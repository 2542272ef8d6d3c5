-- The time zone that a session of this role in this database begins with (ours is then set to UTC).
SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'
