"""A Flask application that has OpenTelemetry: its own provider, instrumentations and spans. It knows no Walltime."""

import os
from typing import Any
from urllib.parse import urlsplit

import pymysql
from flask import Flask
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.pymysql import PyMySQLInstrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()  # the name of the service is OTEL_SERVICE_NAME
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))  # to OTEL_EXPORTER_OTLP_ENDPOINT
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("cart")
PyMySQLInstrumentor().instrument()

url = urlsplit(os.environ.get("MYSQL_URL", "mysql://shop:shop@127.0.0.1:3306/shop"))
MYSQL: dict[str, Any] = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password}

app = Flask(__name__)
app.wsgi_app = OpenTelemetryMiddleware(app.wsgi_app)  # type: ignore[method-assign]


@app.get("/cart/<int:user>")
def cart(user: int) -> dict[str, int]:
    with pymysql.connect(**MYSQL) as connection, connection.cursor() as cursor:
        for product in range(3):
            cursor.execute("SELECT SLEEP(0.002), %s", (product,))
    with tracer.start_as_current_span("discount"):
        return {"user": user, "lamps": 3}
