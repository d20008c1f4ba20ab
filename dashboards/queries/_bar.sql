    -- of the array `parts` of the row, in the order of `families`, and the largest sum of a row, `widest`: a picture as wide
    -- as BAR in dashboards/columns.py
    concat(
        'data:image/svg+xml;base64,',
        base64Encode(concat(
            '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="24" viewBox="0 0 150 24">',
            arrayStringConcat(arrayMap(
                (end, part, colour) -> concat(
                    '<rect y="6" height="12" x="', toString(round(150 * (end - part) / greatest(1, widest), 1)),
                    '" width="', toString(round(150 * part / greatest(1, widest), 1)), '" fill="', colour, '"/>'),
                arrayCumSum(parts), parts,
                -- include colours
                )),
            '</svg>')))
