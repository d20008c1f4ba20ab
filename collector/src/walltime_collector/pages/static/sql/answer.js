// The answer to a statement in the SQL editor: rows, a chart, CSV and JSON.
"use strict";
window.sqlAnswer = (root) => {
  const MOST_ROWS = 1000;
  const MOST_SERIES = 12;
  const LONG = 80;
  const one = (selector) => root.querySelector(selector);
  const result = one(".result");
  const summary = one(".summary");
  const drawn = one(".drawn");
  const rows = one(".rows");
  let links = [];

  // A 64-bit integer beyond 2^53 keeps its digits where the browser tells them (the third argument of a reviver).
  function read(text) {
    return JSON.parse(text, (_, value, context) =>
      typeof value === "number" && !Number.isSafeInteger(value) && context && /^-?\d+$/.test(context.source || "") ? BigInt(context.source) : value,
    );
  }

  // As `walltime sql --csv` writes it: arrays and maps are JSON.
  function asText(value) {
    return typeof value === "string" ? value : asJson(value);
  }

  function asJson(value) {
    if (typeof value === "bigint") return String(value);
    if (Array.isArray(value)) return `[${value.map(asJson).join(", ")}]`;
    if (value !== null && typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${asJson(each)}`).join(", ")}}`;
    return JSON.stringify(value);
  }

  function csv({ columns, rows }) {
    const field = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const line = (values) => `${values.map(field).join(",")}\n`;
    return line(columns.map((each) => each.name)) + rows.map((row) => line(row.map((value) => (value === null ? "" : asText(value))))).join("");
  }

  const plainType = (type) => type.replace(/^(?:LowCardinality|Nullable)\((.*)\)$/, "$1").replace(/^(?:LowCardinality|Nullable)\((.*)\)$/, "$1");
  const isNumber = (type) => /^(U?Int|Float|BFloat|Decimal)\d*/.test(plainType(type));
  const isTime = (type) => /^Date/.test(plainType(type));

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  function cell(value, column) {
    const td = element("td", { className: isNumber(column.type) ? "n" : "" });
    const text = value === null ? "NULL" : asText(value);
    if (value === null) td.append(element("span", { className: "null" }, text));
    else if (/^[0-9a-f]{32}$/.test(text) && /trace/i.test(column.name)) td.append(element("a", { href: `/transactions/${text}` }, text));
    else if (text.length > LONG || text.includes("\n")) {
      const long = element("button", { type: "button", className: "long" }, text);
      long.setAttribute("aria-expanded", "false");
      long.onclick = () => !String(getSelection()) && long.setAttribute("aria-expanded", String(long.getAttribute("aria-expanded") === "false"));
      td.append(long);
    } else td.append(text);
    return td;
  }

  function show(text, about) {
    const answer = read(text);
    const { columns } = answer;
    const shown = answer.rows.slice(0, MOST_ROWS);
    const head = element("tr", {}, ...columns.map((column) => {
      const th = element("th", { scope: "col", className: isNumber(column.type) ? "n" : "" }, column.name, element("span", { className: "type" }, column.type));
      return th;
    }));
    const body = element("tbody", {}, ...shown.map((row) => element("tr", {}, ...row.map((value, at) => cell(value, columns[at])))));
    rows.replaceChildren(element("table", { className: "data answer" }, element("caption", {}, "Rows of the answer"), element("thead", {}, head), body));
    htmx.process(rows);
    const count = (number) => numbers.text("count", number);
    const all = answer.rows.length;
    const plural = (number) => `${count(number)} ${number === 1 ? "row" : "rows"}`;
    const many = all > shown.length ? `The first ${count(shown.length)} of ${plural(all)}; CSV and JSON have all.` : plural(all);
    const took = [`${numbers.text("ns", Number(about.elapsed_ns || 0))}`, `${plural(Number(about.read_rows || 0))} read`];
    summary.replaceChildren(element("strong", {}, many), element("span", { className: "dim" }, ` ${took.join(", ")}`));
    for (const link of links) URL.revokeObjectURL(link);
    links = [];
    download("csv", () => csv(answer), "text/csv");
    download("json", () => text, "application/json");
    const chart = chartOf(answer);
    result.querySelector(".choices").hidden = !chart;
    draw(chart);
    showAs(chart ? "chart" : "table");
  }

  function download(name, content, type) {
    const link = result.querySelector(`[data-download=${name}]`);
    link.removeAttribute("href");
    link.setAttribute("role", "button");
    link.tabIndex = 0;
    link.onclick = () => {
      if (link.href) return;
      link.href = URL.createObjectURL(new Blob([content()], { type: `${type};charset=utf-8` }));
      links.push(link.href);
    };
    link.onkeydown = (event) => event.key === "Enter" && !link.href && link.click();
  }

  result.querySelector(".choices").addEventListener("click", (event) => event.target.dataset.show && showAs(event.target.dataset.show));

  function showAs(which) {
    for (const each of result.querySelectorAll("[data-show]")) each.setAttribute("aria-pressed", String(each.dataset.show === which));
    drawn.hidden = which !== "chart";
    rows.hidden = which === "chart";
    if (which === "chart") charts.drawAll(drawn);
  }

  // ---- the chart: the first column is a time, one column may name the series, the others are numbers

  function chartOf({ columns, rows }) {
    if (rows.length < 2 || !columns.length || !isTime(columns[0].type)) return null;
    const labels = columns.map((each, at) => at).slice(1).filter((at) => !isNumber(columns[at].type));
    const values = columns.map((each, at) => at).slice(1).filter((at) => isNumber(columns[at].type));
    if (!values.length || labels.length > 1 || (labels.length && values.length > 1)) return null;
    const at_s = rows.map((row) => Date.parse(`${String(row[0]).replace(" ", "T").slice(0, 23)}${String(row[0]).length <= 10 ? "T00:00:00" : ""}Z`) / 1000);
    if (at_s.some(Number.isNaN)) return null;
    const steps = [...new Set(at_s)].sort((a, b) => a - b);
    if (steps.length < 2) return null;
    const step_s = Math.min(...steps.slice(1).map((each, at) => each - steps[at]));
    const length = Math.round((steps[steps.length - 1] - steps[0]) / step_s) + 1;
    if (length > 5000) return null;
    const series = new Map();
    rows.forEach((row, at) => {
      for (const value of values) {
        const name = labels.length ? asText(row[labels[0]] ?? "NULL") : columns[value].name;
        if (!series.has(name)) series.set(name, Array(length).fill(null));
        const number = row[value];
        series.get(name)[Math.round((at_s[at] - steps[0]) / step_s)] = number === null ? null : Number(number);
      }
    });
    if (series.size > MOST_SERIES) return null;
    const colours = ["p50", "p99", "memcache", "python", "p95", "custom", "http", "mysql", "redis", "bad", "other", "ok"];
    return {
      id: "sql-chart", drawing: "lines", unit: "count", start_s: steps[0], step_s,
      series: [...series].map(([name, each], at) => ({ name, values: each, family: colours[at] })),
    };
  }

  function draw(chart) {
    drawn.replaceChildren();
    if (!chart) return;
    const svg = "http://www.w3.org/2000/svg";
    const legend = element("tbody", {}, ...chart.series.map(({ name, values, family }) => {
      const swatch = document.createElementNS(svg, "svg");
      const square = document.createElementNS(svg, "rect");
      for (const [attribute, value] of [["class", "swatch"], ["viewBox", "0 0 10 10"], ["width", "10"], ["height", "10"], ["aria-hidden", "true"]]) swatch.setAttribute(attribute, value);
      for (const [attribute, value] of [["class", `f-${family} s-0`], ["width", "10"], ["height", "10"], ["rx", "2"]]) square.setAttribute(attribute, value);
      swatch.append(square);
      const known = values.filter((value) => value !== null);
      const last = known.length ? numbers.text("count", known[known.length - 1]) : "–";
      const td = element("td", {}, last);
      td.dataset.whole = last;
      return element("tr", {}, element("th", { scope: "row" }, swatch, ` ${name}`), td);
    }));
    const figure = element("figure", { className: "chart" },
      element("div", { className: "plot" }),
      element("table", { className: "legend" }, element("caption", { className: "hidden" }, "Series, with the last value of each"), legend),
      element("script", { type: "application/json", id: "sql-chart-data" }, JSON.stringify(chart)));
    figure.dataset.chart = "lines";
    figure.dataset.source = "sql-chart-data";
    figure.setAttribute("aria-label", "Chart of the answer; the table has its values");
    drawn.append(figure);
  }

  return show;
};
