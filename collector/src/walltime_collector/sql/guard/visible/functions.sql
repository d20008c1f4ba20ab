-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT name, is_aggregate, case_insensitive, alias_to, origin, description, syntax, arguments, returned_value, examples, categories
FROM system.functions WHERE origin = 'System'
LIMIT 1000000
