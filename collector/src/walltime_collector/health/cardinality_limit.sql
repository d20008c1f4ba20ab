-- The names that a crowded service keeps today: those most of its transactions had since yesterday began, and `_OTHER`.
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
