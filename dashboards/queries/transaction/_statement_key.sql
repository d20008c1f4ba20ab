            -- the words and comparisons of a statement, without placeholders, lists and white space: equal for a template and the server's fingerprint
            replaceRegexpAll(replaceRegexpAll(lower({of}), '%\\(\\w+\\)s|%s|\\b(null|true|false|asc|offset)\\b', ''), '[^\\pL0-9_.`=<>!*]+', '')
