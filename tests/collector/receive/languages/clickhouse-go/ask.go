// Asks with clickhouse-go over HTTP, with each of its compressions, and fails when an answer is not as it should be.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

var methods = []struct {
	name   string
	method clickhouse.CompressionMethod
}{
	{"none", clickhouse.CompressionNone},
	{"lz4", clickhouse.CompressionLZ4},
	{"zstd", clickhouse.CompressionZSTD},
	{"gzip", clickhouse.CompressionGZIP},
	{"deflate", clickhouse.CompressionDeflate},
	{"br", clickhouse.CompressionBrotli},
}

func options(method clickhouse.CompressionMethod, password string) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{os.Getenv("ADDRESS")},
		Auth:        clickhouse.Auth{Database: "walltime", Username: "somebody", Password: password},
		Compression: &clickhouse.Compression{Method: method},
		Settings:    clickhouse.Settings{"max_execution_time": 20},
	}
}

func ask(method clickhouse.CompressionMethod) error {
	ctx := context.Background()
	db := clickhouse.OpenDB(options(method, os.Getenv("PASSWORD")))
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	if err := many(ctx, db); err != nil {
		return err
	}
	var text string
	var number uint32
	row := db.QueryRowContext(ctx, "SELECT {text:String}, {number:UInt32}",
		clickhouse.Named("text", "it's ü"), clickhouse.Named("number", "7"))
	if err := row.Scan(&text, &number); err != nil || text != "it's ü" || number != 7 {
		return fmt.Errorf("parameters: %q %d %w", text, number, err)
	}
	var count uint64
	if err := db.QueryRowContext(ctx, "SELECT count() FROM transactions WHERE name != ?", "x").Scan(&count); err != nil || count == 0 {
		return fmt.Errorf("transactions: %d %w", count, err)
	}
	for statement, says := range map[string]string{
		"SELECT * FROM nothing":                  "UNKNOWN_TABLE",
		"SELECT (":                               "Syntax error",
		"DROP TABLE spans":                       "not allowed",
		"SELECT throwIf(1, 'the message of it')": "the message of it",
	} {
		if _, err := db.QueryContext(ctx, statement); err == nil || !strings.Contains(err.Error(), says) {
			return fmt.Errorf("%s: the error is %v, and not %s", statement, err, says)
		}
	}
	stranger := clickhouse.OpenDB(options(method, "wrong"))
	defer stranger.Close()
	if err := stranger.PingContext(ctx); err == nil || !strings.Contains(err.Error(), "password") {
		return fmt.Errorf("wrong password: %w", err)
	}
	return nil
}

func many(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, "SELECT number, toString(number) FROM numbers(200000)")
	if err != nil {
		return err
	}
	defer rows.Close()
	var number, sum uint64
	var text string
	for rows.Next() {
		if err := rows.Scan(&number, &text); err != nil {
			return err
		}
		sum += number
	}
	if sum != 19_999_900_000 {
		return errors.New("rows are missing")
	}
	return rows.Err()
}

func main() {
	for _, each := range methods {
		if err := ask(each.method); err != nil {
			fmt.Printf("%s FAILED: %v\n", each.name, err)
			os.Exit(1)
		}
	}
	fmt.Printf("asked with %d compressions\n", len(methods))
}
