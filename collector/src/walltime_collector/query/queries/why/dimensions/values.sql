-- Which values have enough transactions, and the most that differs from their usual part of the time or of the transactions?
-- Time is compared in proportion: where everything takes twice as long, no value has more than its part.
-- All classes of status are in the answer.
WITH
-- include why/_compared.sql
SELECT
    each.1 AS dimension,
    each.2 AS value,
    countIf(is_slow) AS slow_transactions,
    countIf(NOT is_slow) AS usual_transactions,
    sumIf(duration_ns, is_slow) AS slow_ns,
    sumIf(duration_ns, NOT is_slow) AS usual_ns,
    cityHash64(each.1, each.2) AS hash,
    count() OVER () AS all_values,
    count() OVER (PARTITION BY dimension) AS values_of_dimension
FROM transactions
ARRAY JOIN
-- include why/dimensions/_values.sql
    AS each
WHERE is_compared
GROUP BY each
HAVING dimension = 'status'
    OR slow_transactions + usual_transactions BETWEEN {support:UInt32} AND {slow_transactions:UInt64} + {usual_transactions:UInt64} - 1
QUALIFY dimension = 'status' OR slow_transactions >= {support:UInt32} OR usual_transactions >= {usual_support:UInt32}
ORDER BY
    dimension = 'status' DESC,
    abs(slow_ns / {slow_total_ns:Float64} - usual_ns / {usual_total_ns:Float64})
        + abs(slow_transactions / {slow_transactions:UInt64} - usual_transactions / {usual_transactions:UInt64}) DESC,
    dimension, value
LIMIT {of_each:UInt32} BY dimension
LIMIT {limit:UInt32}
