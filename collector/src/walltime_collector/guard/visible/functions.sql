SELECT name, is_aggregate, case_insensitive, alias_to, origin, description, syntax, arguments, returned_value, examples, categories
FROM system.functions WHERE origin = 'System'
