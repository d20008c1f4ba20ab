module asks.example/walltime

go 1.24

require github.com/ClickHouse/clickhouse-go/v2 v2.50.0
