-- Version 2: the log remembers dead jobs that a person retried, and with how many attempts they began.
ALTER TABLE pgq_ops.reap_log DROP CONSTRAINT reap_log_outcome_check;
ALTER TABLE pgq_ops.reap_log ADD CONSTRAINT reap_log_outcome_check
    CHECK (outcome IN ('requeued', 'dead_lettered', 'retried'));
COMMENT ON TABLE pgq_ops.reap_log IS 'Every job that was taken back from a dead worker or from the dead, for 30 days';
COMMENT ON COLUMN pgq_ops.reap_log.owner IS 'Who held the job last; of a retried one, who retried it';
COMMENT ON COLUMN pgq_ops.reap_log.attempt IS 'The attempt that ended; of a retried job, how many count as made'
