// Draws <figure class="chart" data-chart=… data-source=…>: the JSON is a Chart of pages/charts.py.
// Dragging over a chart selects a part of the time: it fills the field "Selection" and submits the form.
"use strict";
const charts = (() => {
  const drawn = new Map();
  const drawings = {};

  // Another script draws the figures with this data-chart: from the figure, its .plot and its JSON it makes the uPlot.
  const register = (name, drawing) => {
    drawings[name] = drawing;
  };

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Every colour is in the style sheet: the swatches of the legend have it.
  const colours = (figure) => [...figure.querySelectorAll(".legend .swatch rect")].map((each) => getComputedStyle(each).fill);

  const pad = (number) => String(number).padStart(2, "0");

  // 24 hours, in the browser's zone; the day where it changes, alone when all steps are days.
  function times(seconds) {
    let before = "";
    const areDays = seconds.length > 1 && seconds[1] - seconds[0] >= 86400;
    const haveSeconds = seconds.length > 1 && seconds[1] - seconds[0] < 60;
    return seconds.map((each) => {
      const at = new Date(each * 1000);
      const day = `${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
      const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}${haveSeconds ? `:${pad(at.getSeconds())}` : ""}`;
      const isNew = before !== "" && day !== before;
      before = day;
      return areDays ? day : isNew ? `${day} ${clock}` : clock;
    });
  }

  function selection() {
    const live = document.getElementById("live");
    if (!live || !live.dataset.duringStart) return null;
    return [Number(live.dataset.duringStart) / 1e9, Number(live.dataset.duringEnd) / 1e9];
  }

  function stacked(values) {
    const heights = values[0] ? values[0].map(() => 0) : [];
    return values.map((each) => each.map((value, at) => (value === null ? null : (heights[at] += value))));
  }

  function select(chart, from_s, to_s) {
    const form = document.querySelector("form.scope");
    if (!form) return;
    const first = Math.floor((from_s - chart.start_s) / chart.step_s);
    const last = Math.ceil((to_s - chart.start_s) / chart.step_s);
    const iso = (step) => new Date((chart.start_s + step * chart.step_s) * 1000).toISOString().replace(".000Z", "Z");
    form.elements.during.value = `${iso(first)}..${iso(Math.max(last, first + 1))}`;
    if (form.elements.against) form.elements.against.value = "";
    form.requestSubmit();
  }

  // What every chart over time has: a cursor at the same time in all charts, dragging that selects, equal axes.
  const cursor = () => ({
    y: false,
    drag: { x: true, y: false, setScale: false, dist: 4 },
    sync: { key: "time", setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave", sub: () => true } },
  });
  const axis = () => ({ stroke: variable("--dim"), font: "11px system-ui, sans-serif", grid: { stroke: variable("--grid"), width: 1 }, ticks: { show: false } });
  const timeAxis = () => ({ ...axis(), space: 70, size: 26, values: (_, splits) => times(splits) });
  // Round numbers on a logarithmic axis.
  function decades(lowest, highest) {
    const ratio = highest / lowest;
    const factors = ratio > 3000 ? [1] : ratio > 50 ? [1, 3] : [1, 2, 3, 5, 7];
    const splits = [];
    for (let decade = 10 ** Math.floor(Math.log10(lowest)); decade <= highest; decade *= 10) splits.push(...factors.map((factor) => decade * factor));
    return splits.filter((value) => value >= lowest * 0.999 && value <= highest * 1.001);
  }

  // Of bytes: 512 KiB, not 500 kB.
  const POWERS = Array.from({ length: 50 }, (_, at) => 2 ** at);

  // From below the smallest to above the largest value.
  function logarithmic(values) {
    const known = values.flat().filter((value) => value > 0);
    return known.length ? [Math.min(...known) / 1.3, Math.max(...known) * 1.3] : [1, 10];
  }

  const selected = (chart) => (u) => {
    if (u.select.width <= 0) return;
    select(chart, u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
  };

  // A finger selects as a mouse does; up and down it still scrolls the page (touch-action in walltime.css).
  function touch(u) {
    let from = null;
    const at = (event) => Math.min(Math.max(event.clientX - u.over.getBoundingClientRect().left, 0), u.over.clientWidth);
    const mark = (to, isDone) => u.setSelect({ left: Math.min(from, to), width: Math.abs(to - from), top: 0, height: u.over.clientHeight }, isDone);
    u.over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" && event.isPrimary) from = at(event);
    });
    u.over.addEventListener("pointermove", (event) => {
      if (from === null) return;
      mark(at(event), false);
      u.setCursor({ left: at(event), top: 1 });
    });
    u.over.addEventListener("pointerup", (event) => {
      if (from !== null && Math.abs(at(event) - from) >= 8) mark(at(event), true);
      from = null;
    });
    u.over.addEventListener("pointercancel", () => {
      if (from !== null) mark(from, false);
      from = null;
    });
  }

  function shade(u) {
    const selected = selection();
    if (!selected) return;
    const [left, right] = selected.map((at) => Math.min(Math.max(u.valToPos(at, "x", true), u.bbox.left), u.bbox.left + u.bbox.width));
    u.ctx.save();
    u.ctx.fillStyle = variable("--select");
    u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
    u.ctx.strokeStyle = variable("--focus");
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.strokeRect(left, u.bbox.top, right - left, u.bbox.height);
    u.ctx.restore();
  }

  // The incidents and the events of servers that the page lists, in the time of a chart; what is open lasts until its end.
  function incidents(u) {
    const { min, max } = u.scales.x;
    const listed = [...document.querySelectorAll(".marked li[data-start-s]")].map((item) => ({
      from: Number(item.dataset.startS),
      to: item.dataset.endS ? Number(item.dataset.endS) : Infinity,
      state: item.querySelector(".state").classList[1],
      link: item.querySelector("a"),
      text: item.textContent.replace(/\s+/g, " ").trim(),
    }));
    return listed.filter(({ from, to }) => from < max && to >= min).map((each) => ({ ...each, from: Math.max(each.from, min), to: Math.min(each.to, max) }));
  }

  const STATES = { critical: "--bad", warning: "--warn", ended: "--dim", event: "--focus" };

  function band(u) {
    u.ctx.save();
    for (const { from, to, state } of incidents(u)) {
      const left = u.valToPos(from, "x", true);
      const width = Math.max(u.valToPos(to, "x", true) - left, 2 * devicePixelRatio);
      u.ctx.fillStyle = variable(STATES[state]);
      u.ctx.globalAlpha = 0.12;
      u.ctx.fillRect(left, u.bbox.top, width, u.bbox.height);
      u.ctx.globalAlpha = 1;
      u.ctx.fillRect(left, u.bbox.top, width, 3 * devicePixelRatio);
      u.ctx.fillRect(left, u.bbox.top, devicePixelRatio, u.bbox.height);
    }
    u.ctx.restore();
    flag(u);
  }

  // A link at the beginning of each, for the mouse: the list has the same links for the keyboard and screen readers.
  function flag(u) {
    const known = new Map([...u.over.querySelectorAll(".flag")].map((each) => [each.title, each]));
    let free = 0;
    for (const { from, state, link, text } of incidents(u).sort((left, right) => left.from - right.from)) {
      let mark = known.get(text);
      if (!mark) {
        mark = document.createElement("a");
        mark.href = link.href;
        mark.title = text;
        mark.textContent = "!";
        mark.className = `flag ${state}`;
        mark.tabIndex = -1;
        mark.ariaHidden = "true";
        for (const name of ["mousedown", "mouseup", "pointerdown"]) mark.addEventListener(name, (event) => event.stopPropagation());
        u.over.append(mark);
        htmx.process(mark);
      }
      const left = Math.min(Math.max(u.valToPos(from, "x"), free), u.over.clientWidth - 18);
      mark.style.left = `${left}px`;
      free = left + 19;
    }
  }

  // A value between two gaps has no line; it is drawn as a point.
  function alone(u, series) {
    const values = u.data[series];
    return values.map((value, at) => (value !== null && values[at - 1] == null && values[at + 1] == null ? at : null)).filter((at) => at !== null);
  }

  function draw(figure) {
    const plot = figure.querySelector(".plot");
    const source = document.getElementById(figure.dataset.source);
    const drawing = ["stacked", "lines", "bars"].includes(figure.dataset.chart) ? drawOverTime : drawings[figure.dataset.chart];
    if (!plot || !source || !drawing) return;
    plot.textContent = "";
    drawn.set(figure, drawing(figure, plot, JSON.parse(source.textContent)));
    resized.observe(plot);
  }

  function drawOverTime(figure, plot, chart) {
    const steps = chart.series[0] ? chart.series[0].values.length : 0;
    const x = Array.from({ length: steps }, (_, at) => chart.start_s + (at + 0.5) * chart.step_s);
    const palette = colours(figure);
    const isStacked = chart.drawing === "stacked";
    const values = chart.series.map((each) => each.values);
    const ends = chart.is_logarithmic ? logarithmic(values) : null;
    const isBar = chart.series.map((each) => chart.drawing === "bars" || (isStacked && !each.is_beside));
    const stack = isStacked ? stacked(values.filter((_, at) => isBar[at])) : [];
    const heights = values.map((each, at) => (isStacked && isBar[at] ? stack.shift() : ends ? each.map((value) => (value === 0 ? ends[0] : value)) : each));
    // The highest stack is drawn first, and the lower ones over it; lines are over all.
    const order = chart.series.map((_, at) => at);
    if (isStacked) order.reverse().sort((left, right) => isBar[right] - isBar[left]);
    const bars = uPlot.paths.bars({ size: [1, Infinity], align: 0, gap: 0 });
    const series = order.map((at) => ({
      label: chart.series[at].name,
      stroke: isStacked && isBar[at] ? undefined : palette[at],
      fill: isBar[at] ? palette[at] : undefined,
      width: isStacked && isBar[at] ? 0 : 1.5,
      paths: isBar[at] ? bars : undefined,
      points: isBar[at] ? { show: false } : { show: true, filter: alone, size: 4, fill: palette[at] },
    }));
    const cells = [...figure.querySelectorAll(".legend td")];
    const legend = figure.querySelector(".legend");
    return new uPlot(
      {
        width: plot.clientWidth,
        height: plot.clientHeight,
        padding: [8, 24, 0, 0], // half of the last time's label
        legend: { show: false },
        cursor: { ...cursor(), points: { show: !isStacked, size: 6 } },
        select: { show: true },
        scales: {
          x: { time: true, range: () => [chart.start_s, chart.start_s + steps * chart.step_s] },
          y: ends ? { distr: 3, range: () => ends } : { range: (_, __, highest) => [0, highest > 0 ? highest * 1.06 : 1] },
        },
        axes: [
          timeAxis(),
          { ...axis(), ...(chart.unit === "bytes" ? { incrs: POWERS } : {}), ...(ends ? { splits: () => decades(...ends), filter: (_, splits) => splits } : {}), size: 58, space: Math.min(34, plot.clientHeight / 4), values: (_, splits) => splits.map((value) => numbers.axis(chart.unit, value)) },
        ],
        series: [{}, ...series],
        hooks: {
          ready: [touch],
          draw: [shade, band],
          setSelect: [selected(chart)],
          setCursor: [(u) => {
            const at = u.cursor.idx;
            legend.classList.toggle("at-cursor", at != null);
            cells.forEach((cell, i) => {
              cell.textContent = at == null ? cell.dataset.whole : numbers.text(chart.unit, values[i][at]);
            });
          }],
        },
      },
      [x, ...order.map((at) => heights[at])],
      plot,
    );
  }

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const u = drawn.get(target.closest("figure"));
      if (u && target.clientWidth && (u.width !== target.clientWidth || u.height !== target.clientHeight)) u.setSize({ width: target.clientWidth, height: target.clientHeight });
    }
  });

  function drawAll(root = document) {
    for (const [figure, u] of drawn) {
      if (!figure.isConnected) {
        u.destroy();
        drawn.delete(figure);
      }
    }
    for (const figure of root.querySelectorAll("figure.chart")) {
      const before = drawn.get(figure);
      if (before) before.destroy();
      draw(figure);
    }
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  return { drawAll, register, variable, cursor, axis, timeAxis, decades, selected, shade, band, touch };
})();
