-- Which transactions are there at all? For those who mistyped one.
SELECT name
FROM transactions
WHERE {service:String} = '' OR service = {service:String}
GROUP BY name
ORDER BY count() DESC, name
LIMIT 1000
