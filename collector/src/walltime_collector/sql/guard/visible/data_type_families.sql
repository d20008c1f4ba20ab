-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT name, case_insensitive, alias_to FROM system.data_type_families
LIMIT 1000000
