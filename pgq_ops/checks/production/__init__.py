"""The production checklist: how a job table, its workers and its server should be set up beforehand."""
