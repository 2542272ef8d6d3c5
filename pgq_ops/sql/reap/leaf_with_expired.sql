-- The number {place} if the leaf has a reapable row; several of these are joined by UNION ALL.
SELECT {place} WHERE EXISTS (SELECT FROM {leaf} AS j WHERE {is_reapable})
