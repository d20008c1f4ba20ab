// How many of a product are left, from MySQL. Tracing is OpenTelemetry's own SDK for JavaScript.
const { trace } = require("@opentelemetry/api");
const { NodeSDK } = require("@opentelemetry/sdk-node");
const { HttpInstrumentation } = require("@opentelemetry/instrumentation-http");
const { MySQL2Instrumentation } = require("@opentelemetry/instrumentation-mysql2");

const sdk = new NodeSDK({ instrumentations: [new HttpInstrumentation(), new MySQL2Instrumentation()] });
sdk.start(); // before http and mysql2 are loaded; sends to OTEL_EXPORTER_OTLP_ENDPOINT

const http = require("node:http");
const mysql = require("mysql2/promise");

const pool = mysql.createPool(process.env.MYSQL_URL || "mysql://shop:shop@127.0.0.1:3306/shop");
const server = http.createServer(async (request, response) => {
  trace.getActiveSpan()?.setAttribute("http.route", "/stock/{number}"); // as frameworks do; names the transaction
  const number = Number(request.url.split("/").pop());
  const [rows] = await pool.query("SELECT SLEEP(0.02), ? * 3 AS count", [number]);
  response.end(String(rows[0].count));
});
const [host, port] = (process.env.LISTEN || "127.0.0.1:8001").split(":");
server.listen(Number(port), host);

process.on("SIGTERM", async () => {
  server.close();
  await sdk.shutdown();
  process.exit(0);
});
