-- What would the calls of each transaction have taken at the usual time of each? In the order of time.
SELECT is_slow, arrayMap(each -> each.2, in_order) AS expected_ns
FROM
(
    WITH
-- include why/_compared.sql
    SELECT
        is_slow,
        arraySort(groupArray((
            started_at,
            arraySum((component, calls) -> calls * transform(component, {components:Array(String)}, {per_call_ns:Array(Float64)}, 0.), target.component, target.calls)
        ))) AS in_order
    FROM transactions
    WHERE is_compared
    GROUP BY is_slow
)
