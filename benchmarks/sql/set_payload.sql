-- Gives jobs the payload of an ordinary one (an e-mail to send), so that a row is as long as those that performance.md
-- was measured with: 31 to 32 of them on a page.
ALTER TABLE demo_queue_jobs ALTER payload SET DEFAULT
    '{{"kind": "email", "to": "somebody@example.com", "template": "weekly-summary", "locale": "en", "account": 1234567, "week": 48, "dry_run": false}}'
