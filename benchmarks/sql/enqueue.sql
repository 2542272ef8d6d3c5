-- Adds one job that is due at once.
INSERT INTO demo_queue_jobs (payload) VALUES ('{{"n": 1}}')
