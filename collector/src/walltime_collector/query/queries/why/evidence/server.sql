-- Calls of a component on one server.
WITH
-- include why/_compared.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    sum(called.calls) AS calls,
    sum(called.errors) AS errors,
    countIf(called.errors > 0) AS failed_transactions
FROM transactions
ARRAY JOIN target AS called
WHERE is_compared AND called.component = {component:String} AND called.address = {address:String}
GROUP BY side
ORDER BY side
