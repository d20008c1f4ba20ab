(
    SELECT
        server, any(system_of) AS system, step,
        -- include servers/_{of}_said.sql
    FROM
    (
        SELECT *, {system} AS system_of
        FROM
        (
            -- include servers/_said.sql table={of}_status server=server start_ns=({from}*1000000000) step_s={step} end_ns=(toInt64(to_s)*1000000000)
        )
        WHERE $__conditionalAll(server IN (${server:singlequote}), $server)
    ) AS s
    GROUP BY server, step
)
