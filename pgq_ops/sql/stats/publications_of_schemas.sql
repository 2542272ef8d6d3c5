-- As publications.sql, for FOR TABLES IN SCHEMA. Minimum server version: 15.
SELECT c.oid::bigint, p.pubname::text
FROM pg_class AS c
JOIN pg_publication_namespace AS s ON s.pnnspid = c.relnamespace
JOIN pg_publication AS p ON p.oid = s.pnpubid AND (p.pubupdate OR p.pubdelete)
WHERE c.oid = ANY (%(oids)s::oid[])
ORDER BY 1, 2
