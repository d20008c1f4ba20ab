// Time series: all of it is @grafana/ui's, but the marks of annotations and the filter of fields before.
import React, { useLayoutEffect } from "react";
import { FieldType } from "@grafana/data";
import { TimeSeries } from "@grafana/ui";

// As the application's prepareGraphableFields does.
function graphable(frames) {
  const kept = [];
  for (const frame of frames) {
    const fields = frame.fields
      .filter(({ type }) => type === FieldType.time || type === FieldType.number)
      .map((field) =>
        field.type === FieldType.time ? field : { ...field, values: field.values.map((v) => (Number.isFinite(v) ? v : null)) }
      );
    if (fields.some(({ type }) => type === FieldType.number) && fields.some(({ type }) => type === FieldType.time)) {
      kept.push({ ...frame, fields });
    }
  }
  return kept;
}

function Marks({ config, annotations }) {
  useLayoutEffect(() => {
    config.addHook("draw", (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      for (const { time, timeEnd, color } of annotations) {
        const at = Math.round(u.valToPos(time, "x", true));
        const end = Math.round(u.valToPos(timeEnd ?? time, "x", true));
        if (end < bbox.left || at > bbox.left + bbox.width) continue;
        const from = Math.max(at, bbox.left), to = Math.min(end, bbox.left + bbox.width);
        ctx.globalAlpha = 0.1;
        ctx.fillStyle = color;
        if (to > from) ctx.fillRect(from, bbox.top, to - from, bbox.height);
        ctx.globalAlpha = 1;
        ctx.strokeStyle = color;
        ctx.lineWidth = 2 * devicePixelRatio;
        ctx.setLineDash([5 * devicePixelRatio, 5 * devicePixelRatio]);
        for (const x of new Set([from, to])) {
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          ctx.beginPath();
          const low = bbox.top + bbox.height, size = 5 * devicePixelRatio;
          ctx.moveTo(x, low);
          ctx.lineTo(x - size, low + size);
          ctx.lineTo(x + size, low + size);
          ctx.fill();
        }
      }
      ctx.restore();
    });
  }, [config]);
  return null;
}

export function Series({ panel, frames, width, height, timeRange, annotations }) {
  const shown = graphable(frames);
  if (!shown.length) return <div className="no-data">No data</div>;
  const legend = { displayMode: "list", placement: "bottom", calcs: [], showLegend: true, ...panel.options.legend };
  return (
    <TimeSeries {...{ width, height, timeRange, legend }} frames={shown} timeZone="browser" structureRev={1}>
      {(config) => <Marks config={config} annotations={annotations} />}
    </TimeSeries>
  );
}
