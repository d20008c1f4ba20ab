            -- up to the first value, as key_prefix in query/servers/requested.py; a test compares them
            concat(
                extract(key, '^(?:(?:[vV][0-9]{1,2}|[^:/|.\\-_#0-9\\x{80}-\\x{10FFFF}]{1,32})(?:[:/|.\\-_]+|$)|[:/|.\\-_]+)*') AS head,
                if(
                    match(substring(key, length(head) + 1) AS rest, '^[0-9a-fA-F]{8,}(?:[:/|.\\-_]|$)'), '',
                    extract(rest, '^([A-Za-z]{1,32})[0-9]+(?:[:/|.\\-_]|$)')))
