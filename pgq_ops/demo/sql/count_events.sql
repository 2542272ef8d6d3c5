-- How often each kind of event was recorded.
SELECT event, count(*) FROM demo_record GROUP BY event
