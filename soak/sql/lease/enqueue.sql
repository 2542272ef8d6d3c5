-- Adds jobs. Parameters: jobs (how many), poison_share (0 to 1). Returns their ids.
INSERT INTO soak_lease (poison) SELECT random() < %(poison_share)s FROM generate_series(1, %(jobs)s) RETURNING id
