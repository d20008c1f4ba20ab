    , toFloat64OrDefault(extract(${target:singlequote}, '[0-9.]+'), 99.9) / 100 AS target
    , greatest(1 - least(target, 0.999999), 0.000001) AS budget
    , toUInt64(1e6 * toFloat64OrDefault(extract(${slower_than:singlequote}, '[0-9.]+'), 1000.)) AS limit_ns
