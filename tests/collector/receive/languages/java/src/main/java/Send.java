import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Sends SPANS spans with each of the Java SDK's exporters, and fails when one of them does. */
public final class Send {
  public static void main(String[] arguments) {
    List<SpanData> spans = make(Integer.parseInt(System.getenv("SPANS")));
    String grpc = "http://" + System.getenv("GRPC");
    String http = System.getenv("HTTP");
    List<SpanExporter> exporters =
        List.of(
            OtlpGrpcSpanExporter.builder().setEndpoint(grpc).build(),
            OtlpGrpcSpanExporter.builder().setEndpoint(grpc).setCompression("gzip").build(),
            OtlpHttpSpanExporter.builder().setEndpoint(http).build(),
            OtlpHttpSpanExporter.builder().setEndpoint(http).setCompression("gzip").build());
    for (SpanExporter exporter : exporters) {
      if (!exporter.export(spans).join(30, TimeUnit.SECONDS).isSuccess()) {
        throw new IllegalStateException(exporter + " did not deliver");
      }
      exporter.shutdown().join(5, TimeUnit.SECONDS);
    }
    System.out.println("exports " + exporters.size());
    System.exit(0);
  }

  private static List<SpanData> make(int wanted) {
    List<SpanData> made = new ArrayList<>();
    SpanExporter keeping =
        new SpanExporter() {
          @Override
          public CompletableResultCode export(Collection<SpanData> spans) {
            made.addAll(spans);
            return CompletableResultCode.ofSuccess();
          }

          @Override
          public CompletableResultCode flush() {
            return CompletableResultCode.ofSuccess();
          }

          @Override
          public CompletableResultCode shutdown() {
            return CompletableResultCode.ofSuccess();
          }
        };
    SdkTracerProvider provider = SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(keeping)).build();
    for (int at = 0; at < wanted; at++) {
      var span = provider.get("a stock application").spanBuilder("GET /x").startSpan();
      span.setAttribute("n", at).setAttribute("s", "t").setAttribute(AttributeKey.longArrayKey("l"), List.of(1L, 2L));
      span.addEvent("happened").end();
    }
    return made;
  }
}
