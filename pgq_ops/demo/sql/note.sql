-- Adds to the record. Parameters: event, worker, job, version (the last two may be NULL).
INSERT INTO demo_record (event, worker, job, version) VALUES (%(event)s, %(worker)s, %(job)s, %(version)s)
