            trim(LEADING ',' FROM reverse(replaceRegexpAll(reverse(toString({of})), '(\\d{3})', '\\1,')))
