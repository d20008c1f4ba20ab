            -- up to the first value, nearly always as query/servers/requested.py; a test compares them
            concat(
                extract(key, '^(?:(?:[vV][0-9]{1,2}|[^:/|.\\-_#0-9\\x{80}-\\x{10FFFF}]{1,32})(?:[:/|.\\-_]+|$)|[:/|.\\-_]+)*'),
                extract(key, '^(?:(?:[vV][0-9]{1,2}|[^:/|.\\-_#0-9\\x{80}-\\x{10FFFF}]{1,32})[:/|.\\-_]+|[:/|.\\-_]+)*([A-Za-z]+)[0-9]+(?:[:/|.\\-_]|$)'))
