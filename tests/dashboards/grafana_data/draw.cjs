// Applies a panel's fieldConfig to the rows of its query with Grafana's own code, and prints what its cells say.
// stdin: [{type, fieldConfig, columns: [{name, type, labels, values}]}]; argument: which of the two @grafana/data.
// stdout: per panel and column {name, displayName, texts, colours, links: the addresses per row, custom}.
require("./browser.cjs");
const grafana = require(process.argv[2]);

const theme = grafana.createTheme();
const { FieldConfigOptionsRegistry } = grafana;

function dataLinks(field, row) {
  return (field.getLinks?.({ valueRowIndex: row }) ?? []).map(({ href }) => href);
}

function registryOf() {
  // The properties of Grafana's own that our panels use; `custom` ones are kept as they are.
  const identity = (value) => value;
  const own = [
    ["unit", grafana.unitOverrideProcessor], ["decimals", grafana.numberOverrideProcessor],
    ["min", grafana.numberOverrideProcessor], ["max", grafana.numberOverrideProcessor],
    ["displayName", grafana.displayNameOverrideProcessor], ["noValue", grafana.stringOverrideProcessor],
    ["color", identity], ["thresholds", grafana.thresholdsOverrideProcessor],
    ["mappings", grafana.valueMappingsOverrideProcessor], ["links", grafana.dataLinksOverrideProcessor],
  ];
  const custom = ["width", "minWidth", "hidden", "displayMode", "cellOptions", "inspect", "lineWidth", "spanNulls"];
  return new FieldConfigOptionsRegistry(() => [
    ...own.map(([id, process]) => ({
      id, path: id, name: id, process, settings: { expandTemplateVars: true }, shouldApply: () => true, override: process,
    })),
    ...custom.map((id) => ({
      id: `custom.${id}`, path: id, name: id, isCustom: true, process: identity, shouldApply: () => true, override: identity,
    })),
  ]);
}

// What the templates of links know, from what Grafana hands over; values are no array in 9.5.
const at = (values, row) => (values.get ? values.get(row) : values[row]);

function known(scopedVars) {
  const context = scopedVars.__dataContext?.value;
  if (!context) return scopedVars;
  const { frame, field, rowIndex } = context;
  const shown = (each) => grafana.formattedValueToString(each.display(at(each.values, rowIndex)));
  const fields = rowIndex === undefined ? {} : Object.fromEntries(frame.fields.map((each) => [each.name, shown(each)]));
  return {
    __field: { value: { labels: field.labels, name: field.name } },
    __data: { value: { fields } },
    __value: { value: { raw: rowIndex === undefined ? undefined : at(field.values, rowIndex) } },
  };
}

// ${__value.raw}, ${__data.fields.kind}, ${__field.labels.kind}, with or without :percentencode; nothing else is ours.
function replace(text, scopedVars = {}) {
  return text.replace(/\$\{(\w+)\.([^:}]+)(?::(percentencode))?\}/g, (whole, name, path, format) => {
    const value = path.split(".").reduce((at, key) => at?.[key], known(scopedVars)[name]?.value);
    if (value === undefined) return whole;
    const written = String(value.text ?? value);
    return format ? encodeURIComponent(written) : written;
  });
}

function draw({ fieldConfig, columns }) {
  const frame = grafana.toDataFrame({
    fields: columns.map(({ name, type, labels, values }) => ({ name, type, labels, values, config: {} })),
  });
  const [drawn] = grafana.applyFieldOverrides({
    data: [frame], fieldConfig, theme, timeZone: "utc", replaceVariables: replace, fieldConfigRegistry: registryOf(),
  });
  return drawn.fields.map((field) => {
    const values = Array.from(field.values.toArray?.() ?? field.values);
    const shown = values.map((value) => field.display(value));
    return {
      name: field.name,
      displayName: grafana.getFieldDisplayName(field, drawn, [drawn]),
      texts: shown.map(grafana.formattedValueToString),
      colours: shown.map(({ color }) => color ?? null),
      links: values.map((_, row) => dataLinks(field, row)),
      custom: field.config.custom ?? {},
    };
  });
}

let input = "";
process.stdin.on("data", (part) => (input += part));
process.stdin.on("end", () => process.stdout.write(`\n${JSON.stringify(JSON.parse(input).map(draw))}\n`));
