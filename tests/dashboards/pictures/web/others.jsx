// Panels whose drawing is in Grafana's application and in no package: imitated here, roughly.
import * as chromatic from "d3-scale-chromatic";
import React, { useEffect, useRef } from "react";
import { formattedValueToString, getValueFormat, getFieldDisplayName, getFieldSeriesColor, renderTextPanelMarkdown } from "@grafana/data";

export function Text({ panel, replace }) {
  const { content = "", mode = "markdown" } = panel.options;
  const html = mode === "markdown" ? renderTextPanelMarkdown(replace(content)) : replace(content);
  return <div className="markdown-html" style={{ height: "100%", overflow: "auto" }} dangerouslySetInnerHTML={{ __html: html }} />;
}

// As Grafana's heat map: the scheme is turned round in the dark, and a power only counts with opacity.
function palette({ mode, scheme = "Oranges", fill, exponent = 0.5, scale, steps = 64, reverse }, theme) {
  const at = Array.from({ length: steps }, (_, i) => i / (steps - 1));
  const { background } = theme.colors, color = theme.visualization.getColorByName(fill ?? "dark-orange");
  const share = (each) => 100 * (scale === "exponential" ? each ** exponent : each);
  const mixed = (each) => `color-mix(in srgb, ${color} ${share(each)}%, ${background.primary})`;
  const found = mode === "opacity" ? at.map(mixed) : at.map(chromatic[`interpolate${scheme}`]);
  return mode !== "opacity" && (reverse || theme.isDark) ? found.reverse() : found;
}

// A frame of rows of buckets: time, then a field a bucket, lowest first.
export function Heat({ panel, frames, width, height, theme, timeRange }) {
  const canvas = useRef(null);
  useEffect(() => {
    const { color = {}, filterValues = {}, yAxis = {}, legend = {} } = panel.options;
    const frame = frames[0];
    const time = frame?.fields.find(({ type }) => type === "time");
    const buckets = frame?.fields.filter(({ type }) => type === "number") ?? [];
    if (!time || !buckets.length) return;
    const ctx = canvas.current.getContext("2d");
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.font = "12px Inter";
    const left = 70, low = height - 22 - (legend.show ? 32 : 0), from = timeRange.from.valueOf(), to = timeRange.to.valueOf();
    const x = (at) => left + ((at - from) / (to - from)) * (width - left);
    const step = Math.min(...time.values.slice(1).map((each, i) => each - time.values[i] || Infinity), to - from);
    const shown = (count) => count != null && !(count <= (filterValues.le ?? 1e-9));
    const counts = buckets.flatMap(({ values }) => values.filter(shown));
    const least = color.min ?? Math.min(...counts), most = color.max ?? Math.max(...counts);
    const hues = palette(color, theme), rowPx = low / buckets.length;
    const hue = (count) => hues[Math.max(Math.min(Math.floor((hues.length * (count - least)) / (most - least || 1)), hues.length - 1), 0)];
    const format = getValueFormat(yAxis.unit ?? buckets[0].config.unit ?? "short");
    buckets.forEach((bucket, row) => {
      const top = low - (row + 1) * rowPx;
      time.values.forEach((at, column) => {
        if (!shown(bucket.values[column])) return;
        ctx.fillStyle = hue(bucket.values[column]);
        ctx.fillRect(x(at) + 0.5, top + 0.5, Math.max(x(at + step) - x(at) - 1, 1), Math.max(rowPx - 1, 1));
      });
      if (row % Math.ceil(14 / rowPx) === 0) {
        ctx.fillStyle = theme.colors.text.primary;
        ctx.textAlign = "right";
        const name = getFieldDisplayName(bucket, frame), number = Number(name);
        ctx.fillText(Number.isFinite(number) ? formattedValueToString(format(number)) : name, left - 6, top + rowPx);
      }
    });
    ctx.fillStyle = theme.colors.text.primary;
    ctx.textAlign = "center";
    for (let tick = 1; tick < 6; tick++) {
      const at = new Date(from + ((to - from) * tick) / 6);
      ctx.fillText(at.toTimeString().slice(0, 8), x(at.valueOf()), low + 18);
    }
    if (!legend.show) return;
    hues.forEach((each, i) => {
      ctx.fillStyle = each;
      ctx.fillRect(left + (i * 200) / hues.length, height - 28, 200 / hues.length + 1, 10);
    });
    ctx.fillStyle = theme.colors.text.primary;
    for (const [at, count] of [[left, least], [left + 200, most]]) ctx.fillText(String(count), at, height - 4);
  }, []);
  if (!frames[0]?.length) return <div className="no-data">No data</div>;
  return <canvas ref={canvas} width={width * devicePixelRatio} height={height * devicePixelRatio} style={{ width, height }} />;
}

export function Bars({ panel, frames, width, height, theme }) {
  const frame = frames[0];
  if (!frame?.length) return <div className="no-data">No data</div>;
  const names = frame.fields.find(({ type }) => type === "string" || type === "time");
  const numbers = frame.fields.filter(({ type }) => type === "number");
  const isStacked = panel.options.stacking && panel.options.stacking !== "none";
  const sums = names.values.map((_, row) => numbers.map(({ values }) => values[row] ?? 0));
  const most = Math.max(...sums.map((row) => (isStacked ? row.reduce((a, b) => a + b, 0) : Math.max(...row))), Number.MIN_VALUE);
  const rowPx = height / names.values.length;
  return (
    <svg width={width} height={height} fontFamily="Inter" fontSize="12">
      {sums.map((row, at) => {
        let left = 0;
        return (
          <g key={at} transform={`translate(0 ${at * rowPx})`}>
            <text x={145} y={rowPx / 2 + 4} textAnchor="end" fill={theme.colors.text.primary}>{String(names.values[at]).slice(0, 24)}</text>
            {row.map((value, i) => {
              const long = (value / most) * (width - 160);
              const bar = (
                <rect
                  key={i} x={150 + (isStacked ? left : 0)} width={Math.max(long, 0)} fill={getFieldSeriesColor(numbers[i], theme).color}
                  y={2 + (isStacked ? 0 : (i * (rowPx - 4)) / row.length)} height={Math.max((rowPx - 4) / (isStacked ? 1 : row.length), 1)}
                />
              );
              left += long;
              return bar;
            })}
          </g>
        );
      })}
    </svg>
  );
}

export function Trace({ frames, width, theme }) {
  const frame = frames[0];
  const column = (name) => frame?.fields.find((field) => field.name === name)?.values ?? [];
  const starts = column("startTime").map(Number);
  if (!starts.length) return <div className="no-data">No data</div>;
  const durations = column("duration").map(Number);
  const from = Math.min(...starts), to = Math.max(...starts.map((at, i) => at + durations[i]));
  const labelPx = width * 0.3, x = (at) => ((at - from) / (to - from || 1)) * (width - labelPx - 90);
  const palette = theme.visualization.palette, services = [...new Set(column("serviceName"))];
  const format = getValueFormat("ms");
  return (
    <div style={{ height: "100%", overflow: "auto" }}>
      {starts.map((at, i) => {
        const color = theme.visualization.getColorByName(palette[services.indexOf(column("serviceName")[i]) % palette.length]);
        return (
          <div key={i} style={{ display: "flex", height: 28, alignItems: "center", fontSize: 14 }}>
            <div style={{ width: labelPx, borderLeft: `4px solid ${color}`, paddingLeft: 6, overflow: "hidden", whiteSpace: "nowrap" }}>
              {column("serviceName")[i]} <small style={{ color: theme.colors.text.secondary }}>{column("operationName")[i]}</small>
            </div>
            <div style={{ marginLeft: x(at), width: Math.max(x(from + durations[i]), 2), height: 12, background: color }} />
            <small style={{ marginLeft: 6, whiteSpace: "nowrap" }}>{formattedValueToString(format(durations[i]))}</small>
          </div>
        );
      })}
    </div>
  );
}
