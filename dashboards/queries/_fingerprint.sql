    -- of a template as an application sends it, or of a text of the log: what both have in common, nearly always as
    -- collector/statements/fingerprint.py; a test compares them
    reinterpretAsUInt64(reverse(substring(MD5(
        replaceRegexpAll(replaceRegexpAll(replaceRegexpAll(
            replaceRegexpOne(replaceRegexpAll(lower({of}), '%\\(\\w+\\)s|%s\\b|\\b(?:null|true|false)\\b', '?'), '[; ]+$', ''),
            '\\b(in|values?)(?:\\s*\\((?:[\\s,]*\\([\\s?,]*\\))+\\s*\\)|(?:[\\s,]*\\([\\s?,]*\\))+)', '\\1(?+)'),
            '\\bin \\?', 'in(?+)'),
            '\\blimit \\?(?: ?, ?\\?| offset \\?)', 'limit ?')
    ), 9, 8)))
