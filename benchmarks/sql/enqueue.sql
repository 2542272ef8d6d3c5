-- Adds one job that is due at once.
INSERT INTO demo_queue_jobs DEFAULT VALUES
