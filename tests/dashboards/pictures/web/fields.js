// A panel's frames as its drawing gets them: transformations, then overrides, by @grafana/data.
// Grafana's own lists of properties are in its application, not in a package; they are repeated here.
import * as grafana from "@grafana/data";
import { firstValueFrom } from "rxjs";

const identity = (value) => value;
const STANDARD = {
  displayName: grafana.displayNameOverrideProcessor,
  unit: grafana.unitOverrideProcessor,
  decimals: grafana.numberOverrideProcessor,
  min: grafana.numberOverrideProcessor,
  max: grafana.numberOverrideProcessor,
  noValue: grafana.stringOverrideProcessor,
  description: grafana.stringOverrideProcessor,
  thresholds: grafana.thresholdsOverrideProcessor,
  mappings: grafana.valueMappingsOverrideProcessor,
  links: grafana.dataLinksOverrideProcessor,
  filterable: grafana.booleanOverrideProcessor,
  fieldMinMax: grafana.booleanOverrideProcessor,
  color: identity,
  actions: identity,
};
// What a panel's plugin adds to what its JSON leaves out.
const GRAPH = {
  drawStyle: "line", lineInterpolation: "linear", lineWidth: 1, fillOpacity: 0, gradientMode: "none", barAlignment: 0,
  barWidthFactor: 0.6, spanNulls: false, insertNulls: false, showPoints: "auto", pointSize: 5,
  stacking: { mode: "none", group: "A" }, axisPlacement: "auto", axisLabel: "", axisColorMode: "text",
  axisBorderShow: false, axisCenteredZero: false, scaleDistribution: { type: "linear" },
  hideFrom: { tooltip: false, viz: false, legend: false }, thresholdsStyle: { mode: "off" },
};
const CUSTOM = {
  timeseries: GRAPH,
  barchart: { ...GRAPH, fillOpacity: 80 },
  table: { align: "auto", cellOptions: { type: "auto" }, inspect: false, footer: { reducers: [] } },
};
const BY_SERIES = ["timeseries", "barchart", "histogram"];
const THRESHOLDS = { mode: "absolute", steps: [{ value: null, color: "green" }, { value: 80, color: "red" }] };

// several names of the package are one transformation
const TRANSFORMATIONS = new Map(Object.values(grafana.standardTransformers).map((each) => [each.id, each]));
grafana.standardTransformersRegistry.setInit(() =>
  [...TRANSFORMATIONS].map(([id, transformation]) => ({
    id, name: transformation.name, transformation, editor: () => null, imageDark: "", imageLight: "",
  }))
);

function registry(fieldConfig) {
  const custom = new Set(Object.keys(fieldConfig.defaults.custom ?? {}));
  for (const { properties } of fieldConfig.overrides) {
    for (const { id } of properties) if (id.startsWith("custom.")) custom.add(id.slice("custom.".length).split(".")[0]);
  }
  const item = (id, path, process, isCustom) => ({
    id, path, name: id, process, override: process, isCustom, settings: { expandTemplateVars: true }, shouldApply: () => true,
  });
  return new grafana.FieldConfigOptionsRegistry(() => [
    ...Object.entries(STANDARD).map(([id, process]) => item(id, id, process, false)),
    ...[...custom].map((id) => item(`custom.${id}`, id, identity, true)),
  ]);
}

export function configured({ type, fieldConfig = {} }) {
  const defaults = fieldConfig.defaults ?? {};
  const color = { mode: BY_SERIES.includes(type) ? "palette-classic" : "thresholds" };
  return {
    defaults: {
      color, thresholds: THRESHOLDS, mappings: [], ...defaults, custom: { ...CUSTOM[type], ...defaults.custom },
    },
    overrides: (fieldConfig.overrides ?? []).map((rule) => ({ ...rule, properties: rule.properties.flatMap(migrated) })),
  };
}

// The table of 12 and later finds what is hidden under another name, which it writes when it opens an older board.
const migrated = (property) =>
  property.id === "custom.hidden" ? [property, { id: "custom.hideFrom", value: { viz: property.value } }] : [property];

// The application's extractFields of one column of JSON, and whatever @grafana/data has.
async function transformed(frames, transformations = []) {
  for (const { id, options, disabled } of transformations) {
    if (disabled) continue;
    if (id === "extractFields") {
      frames = frames.map((frame) => extracted(frame, options));
    } else {
      const context = { interpolate: identity };
      frames = await firstValueFrom(grafana.transformDataFrame([{ id, options }], frames, context));
    }
  }
  return frames;
}

function extracted(frame, { source, replace }) {
  const rows = frame.fields.find(({ name }) => name === source)?.values.map((text) => JSON.parse(text)) ?? [];
  const names = [...new Set(rows.flatMap(Object.keys))];
  const fields = names.map((name) => {
    const values = rows.map((row) => row[name]);
    return { name, values, config: {}, type: grafana.getFieldTypeFromValue(values.find((value) => value != null)) };
  });
  return grafana.toDataFrame({ ...frame, fields: replace ? fields : [...frame.fields, ...fields] });
}

export async function drawable(panel, results, { theme, replace, timeRange }) {
  const frames = results.flatMap(({ frames }) => frames ?? []).map((frame) => grafana.toDataFrame(frame));
  const fieldConfig = configured(panel);
  const data = await transformed(frames, panel.transformations);
  return grafana.applyFieldOverrides({
    data, fieldConfig, theme, timeZone: "browser", replaceVariables: replace, fieldConfigRegistry: registry(fieldConfig),
    timeRange,
  });
}

// What texts and links may name: the board's variables, the time, and the cell, the row and the series.
export function replacer(variables, timeRange) {
  const time = `from=${timeRange.from.valueOf()}&to=${timeRange.to.valueOf()}`;
  const urls = Object.entries(variables).flatMap(([name, values]) =>
    [values].flat().map((value) => `var-${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  );
  const fixed = { __url_time_range: time, __all_variables: urls.join("&"), ...variables };
  const formats = { percentencode: encodeURIComponent, queryparam: encodeURIComponent, uriencode: encodeURI };
  const written = (value, format) => [value].flat().map((each) => (formats[format] ?? String)(each ?? "")).join(",");
  return (text, scopedVars = {}, format) =>
    String(text ?? "").replace(/\$\{(\w+)((?:\.[^:}]+|\["[^"]+"\])*)(?::(\w+))?\}|\$(\w+)/g, (whole, name, path, how, short) => {
      const known = { ...fixed, ...scoped(scopedVars) };
      const keys = (path ?? "").replace(/\["([^"]+)"\]/g, ".$1").split(".").slice(1);
      const value = keys.reduce((at, key) => at?.[key], known[name ?? short]);
      return value === undefined ? whole : written(value?.text ?? value, how ?? format);
    });
}

function scoped(scopedVars) {
  const context = scopedVars.__dataContext?.value;
  const plain = Object.fromEntries(Object.entries(scopedVars).map(([name, each]) => [name, each?.value]));
  if (!context) return plain;
  const { frame, field, rowIndex } = context;
  const shown = (each) => grafana.formattedValueToString(each.display(each.values[rowIndex]));
  return {
    ...plain,
    __field: { labels: field.labels, name: field.name, displayName: field.state?.displayName ?? field.name },
    __series: { name: frame.name },
    __data: { fields: rowIndex === undefined ? {} : Object.fromEntries(frame.fields.map((each) => [each.name, shown(each)])) },
    __value: rowIndex === undefined ? {} : {
      raw: field.values[rowIndex], text: shown(field), time: frame.fields.find(({ type }) => type === "time")?.values[rowIndex],
    },
  };
}
