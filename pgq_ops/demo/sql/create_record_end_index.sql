-- Serves the question how a worker ended.
CREATE INDEX demo_record_end ON demo_record (worker) WHERE event IN ('killed', 'poisoned')
