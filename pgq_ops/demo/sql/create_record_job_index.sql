-- Serves questions about one claim.
CREATE INDEX demo_record_job ON demo_record (job, version)
