-- Writes down who takes a running job back and when, whoever it is: the reaper's own word is not relied on.
CREATE FUNCTION demo_record_recovery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO demo_record (event, worker, job, version, lease_until)
    VALUES (CASE NEW.status WHEN 'pending' THEN 'requeued' ELSE 'buried' END,
            OLD.claimed_by, OLD.id, OLD.claim_version, OLD.lease_until);
    RETURN NULL;
END
$$
