-- What did the very long transactions of each side spend their time on?
WITH
-- include why/_compared.sql
SELECT
    is_slow,
    sumMap(arrayMap((component, address) -> concat(component, '\t', address), target.component, target.address), target.time_ns) AS by_target,
    sumMap(statement.text, statement.time_ns) AS by_statement,
    sum(other_ns) AS other_ns,
    arrayMap(each -> each.2, arraySlice(arrayReverseSort(groupArray((duration_ns, lower(hex(trace_id))))), 1, 3)) AS traces
FROM transactions
WHERE is_of_a_side AND is_single
GROUP BY is_slow
