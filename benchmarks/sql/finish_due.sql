-- Finishes every job that was due ten minutes ago: under a held snapshot each leaves a dead entry in the claim's index.
UPDATE demo_queue_jobs SET status = 'done' WHERE status = 'pending' AND available_at < now() - interval '10 minutes'
