-- Which statements begin like this one?
SELECT DISTINCT text FROM statements_1m WHERE startsWith(text, {beginning:String}) LIMIT {limit:UInt32}
