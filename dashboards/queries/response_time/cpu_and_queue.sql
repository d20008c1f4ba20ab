-- CPU and waiting
-- Means of a transaction. CPU is spent inside the other times; `cpu wait` is time in which it could have computed and got no CPU; `queue` is from the front end's X-Request-Start until the application began, before the response time starts. A line is missing where it is unknown.
-- include points
SELECT
    time,
    cpu_ns / nullIf(cpu_known, 0) AS cpu,
    cpu_wait_ns / nullIf(cpu_wait_known, 0) AS "cpu wait",
    queue_ns / nullIf(queue_known, 0) AS queue
FROM
-- include kind_points
ORDER BY time
