-- Notes every running job that becomes pending or failed; workers themselves only ever make one done.
CREATE TRIGGER demo_record_recovery AFTER UPDATE ON demo_queue_jobs
FOR EACH ROW WHEN (OLD.status = 'running' AND NEW.status IN ('pending', 'failed'))
EXECUTE FUNCTION demo_record_recovery()
