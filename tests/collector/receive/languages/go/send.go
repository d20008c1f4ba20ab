// Sends SPANS spans with each of the Go SDK's exporters, and fails when one of them does.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func must[T any](made T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	wanted := must(strconv.Atoi(os.Getenv("SPANS")))
	made := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(made)).Tracer("a stock application")
	for at := range wanted {
		_, span := tracer.Start(ctx, "GET /x")
		span.SetAttributes(attribute.Int("n", at), attribute.String("s", "t"), attribute.Float64Slice("l", []float64{1, 2}))
		span.AddEvent("happened")
		span.End()
	}
	spans := made.GetSpans().Snapshots()
	grpcTo := otlptracegrpc.WithEndpoint(os.Getenv("GRPC"))
	httpTo := otlptracehttp.WithEndpointURL(os.Getenv("HTTP"))
	exporters := []sdk.SpanExporter{
		must(otlptracegrpc.New(ctx, grpcTo, otlptracegrpc.WithInsecure())),
		must(otlptracegrpc.New(ctx, grpcTo, otlptracegrpc.WithInsecure(), otlptracegrpc.WithCompressor("gzip"))),
		must(otlptracehttp.New(ctx, httpTo)),
		must(otlptracehttp.New(ctx, httpTo, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))),
	}
	for _, exporter := range exporters {
		if err := exporter.ExportSpans(ctx, spans); err != nil {
			log.Fatal(err)
		}
		if err := exporter.Shutdown(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("exports", len(exporters))
}
