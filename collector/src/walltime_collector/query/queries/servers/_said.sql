    -- what a server said, divided into the steps of the window: a row is of the time `over_ns` before it
    SELECT *, {start_ns:Int64} + step * {step_s:Int64} * 1000000000 AS step_ns,
        least(until_ns, step_ns + {step_s:Int64} * 1000000000) - greatest(from_ns, step_ns) AS part_ns, part_ns / over_ns AS part
    FROM
    (
        SELECT
            *, toUnixTimestamp64Milli(at) * 1000000 AS until_ns, until_ns - over_ns AS from_ns,
            arrayJoin(range(
                greatest(intDiv(from_ns - {start_ns:Int64}, {step_s:Int64} * 1000000000), 0),
                intDiv(until_ns - {start_ns:Int64}, {step_s:Int64} * 1000000000) + 1
            )) AS step
        FROM {table:Identifier}
        WHERE server = {server:String} AND at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
    )
    WHERE part_ns > 0
