-- A row is a counter of one process, which Walltime's SDK sends with every export (docs/wire.md, "Attributes of the
-- scope"): its losses, and its calls outside transactions. A counter starts with the process, so its last value is its
-- largest.
CREATE TABLE IF NOT EXISTS sdk_losses{local}{on_cluster}
(
    day Date,
    service LowCardinality(String),
    host LowCardinality(String),
    instance String,
    what LowCardinality(String),
    count SimpleAggregateFunction(max, UInt64)
)
ENGINE = {replicated}AggregatingMergeTree{keeper_path}
ORDER BY (day, service, host, instance, what)
TTL day + INTERVAL 30 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS sdk_losses{on_cluster} AS sdk_losses_local
ENGINE = Distributed({cluster}, {database}, 'sdk_losses_local', 0);

CREATE MATERIALIZED VIEW IF NOT EXISTS store_sdk_losses{on_cluster} TO sdk_losses{local} AS
SELECT
    toDate(toDateTime(intDiv(received_at_ns, 1000000000), 'UTC')) AS day,
    resource_strings[indexOf(resource_keys, 'service.name')] AS service,
    resource_strings[indexOf(resource_keys, 'host.name')] AS host,
    resource_strings[indexOf(resource_keys, 'service.instance.id')] AS instance,
    substring(key, 1 + length('walltime.')) AS what,
    max(toUInt64(greatest(number, 0))) AS count
FROM
(
    SELECT received_at_ns, resource_keys, resource_strings, arrayFlatten(scope_keys) AS keys,
        arrayFlatten(scope_numbers) AS numbers
    FROM otlp_traces
    ARRAY JOIN
        resource_spans.resource.attributes.key AS resource_keys,
        resource_spans.resource.attributes.value.string_value AS resource_strings,
        resource_spans.scope_spans.scope.attributes.key AS scope_keys,
        resource_spans.scope_spans.scope.attributes.value.int_value AS scope_numbers
)
ARRAY JOIN keys AS key, numbers AS number
WHERE key LIKE 'walltime.%' AND number > 0
GROUP BY day, service, host, instance, what
