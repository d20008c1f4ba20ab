// Sends SPANS spans with each of the JavaScript SDK's exporters, and fails when one of them does.
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";

const { GRPC, HTTP, SPANS } = process.env;
const made = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(made)] });
const tracer = provider.getTracer("a stock application");
for (let at = 0; at < Number(SPANS); at++) {
  tracer.startSpan("GET /x", { attributes: { n: at, s: "t", l: [1, 2], b: true, d: 1.5 } }).addEvent("happened").end();
}
const spans = made.getFinishedSpans();
const exporters = [
  new GrpcExporter({ url: `http://${GRPC}` }),
  new GrpcExporter({ url: `http://${GRPC}`, compression: "gzip" }),
  new JsonExporter({ url: HTTP }),
  new JsonExporter({ url: HTTP, compression: "gzip" }),
  new ProtobufExporter({ url: HTTP }),
];
for (const exporter of exporters) {
  const result = await new Promise((resolve) => exporter.export(spans, resolve));
  if (result.code !== 0) throw result.error;
  await exporter.shutdown();
}
console.log(`exports ${exporters.length}`);
