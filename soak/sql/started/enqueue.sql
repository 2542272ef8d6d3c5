-- Adds jobs. Parameters: jobs (how many), poison_share (0 to 1). Returns their ids.
INSERT INTO soak_started (poison, priority)
SELECT random() < %(poison_share)s, (random() * 3)::integer FROM generate_series(1, %(jobs)s) RETURNING id
