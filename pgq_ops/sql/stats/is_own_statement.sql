-- Whether a statement of pg_stat_statements (alias s) is one of pgq-ops that takes or changes jobs: all of these name a
-- key pgq_ops_key; and it was run by this role, one that runs pgq-ops now, or one that may record what it does. A fragment.
(pg_catalog.strpos(s.query, 'pgq_ops_key') > 0 AND (
      s.userid = (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user)
      OR s.userid IN (SELECT a.usesysid FROM pg_stat_activity AS a WHERE a.application_name LIKE 'pgq-ops/%%')
      OR COALESCE(pg_catalog.has_table_privilege(s.userid, pg_catalog.to_regclass('pgq_ops.task')::oid, 'INSERT'), false)))
