-- The names that a service over the limit keeps today: the most frequent since the beginning of yesterday, and `_OTHER`.
INSERT INTO crowded_names
SELECT today() AS day, service, name
FROM
(
    SELECT service, name
    FROM transactions_1m
    WHERE minute >= toStartOfDay(now()) - INTERVAL 1 DAY AND name != '_OTHER' AND service IN ({services:Array(String)})
    GROUP BY service, name
    ORDER BY sum(transactions) DESC, name
    LIMIT {most:UInt32} BY service
    UNION ALL
    SELECT arrayJoin({services:Array(String)}), '_OTHER'
)
