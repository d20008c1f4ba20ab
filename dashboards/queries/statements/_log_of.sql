        AND $__conditionalAll(has(
            arrayMap(text ->
                -- include fingerprint of=text
                , [${statement:singlequote}]), fingerprint_id), $statement)
