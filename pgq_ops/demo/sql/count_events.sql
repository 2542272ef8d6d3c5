-- How often each kind of event was recorded.
SELECT event, pg_catalog.count(*) FROM demo_record GROUP BY event
