-- Are transactions of a service with exactly this name stored? Reads the few rows of the sums at its place in their order.
SELECT 1 FROM transactions_1m WHERE service = {service:String} LIMIT 1
