(
    SELECT
        time, repeat(char(226, 128, 139), toInt64(dense_rank() OVER (ORDER BY server))) AS place, CAST(server, 'String') AS label, * EXCEPT (time, step, system)
    FROM
    (
        SELECT toDateTime(intDiv(from_s, point_s) * point_s + step * point_s, 'UTC') AS time, *
        FROM
        -- include said of={of} system={system} from=toInt64(intDiv(from_s,point_s)*point_s) step=toInt64(point_s)
        ORDER BY server, time WITH FILL STEP point_s
    )
)
