-- How many transactions of these kinds did each version have, and since when? `others` have so many statements that not each has a
-- line of its own on the bill.
SELECT service, name, version, min(first) AS first_s, sum(whole) AS transactions, sum(more) AS others
FROM
(
    SELECT service, name, version, toInt64(toUnixTimestamp(min(minute))) AS first, sum(t.transactions) AS whole, 0 AS more
    FROM transactions_1m AS t
    WHERE service IN {services:Array(String)} AND name IN {names:Array(String)}
    GROUP BY service, name, version
    UNION ALL
    SELECT service, name, version, toInt64(toUnixTimestamp(min(minute))), 0, sum(s.transactions)
    FROM statements_1m AS s
    WHERE service IN {services:Array(String)} AND name IN {names:Array(String)} AND text = '(other)'
    GROUP BY service, name, version
)
GROUP BY service, name, version
ORDER BY first_s, service, name, version
