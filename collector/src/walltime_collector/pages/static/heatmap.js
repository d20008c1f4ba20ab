// Draws <figure data-chart="heatmap">: how many transactions of each step took how long (drawing/heatmap.py), on a
// logarithmic axis, with the histogram of the whole window and its percentiles on the right.
"use strict";
charts.register("heatmap", (figure, plot, map) => {
  const steps = map.columns.length;
  const x = Array.from({ length: steps }, (_, at) => map.start_s + (at + 0.5) * map.step_s);
  const lowest = map.edges_ns[0];
  const highest = map.edges_ns[map.edges_ns.length - 1];
  const most = map.columns.reduce((most, column) => Math.max(most, ...column), 1);
  const longest = Math.max(...map.histogram);
  const text = figure.querySelector(".at");
  const colour = charts.variable("--heat");
  const lines = map.percentiles_ns.map(([name, ns]) => ({ name, ns, colour: charts.variable(`--${name}`) }));
  const beside = plot.clientWidth < 500 ? 44 : 96;
  const LEVELS = 8;

  // One transaction is the lightest of 8 shades, the fullest cell the darkest; between them by the logarithm.
  const level = (transactions) => (most > 1 ? Math.min(Math.floor((LEVELS * Math.log(transactions)) / Math.log(most)), LEVELS - 1) : LEVELS - 1);

  function cells(u) {
    const { ctx } = u;
    const rows = map.edges_ns.map((ns) => u.valToPos(ns, "y", true));
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.fillStyle = colour;
    map.columns.forEach((column, step) => {
      const left = Math.round(u.valToPos(map.start_s + step * map.step_s, "x", true));
      const right = Math.round(u.valToPos(map.start_s + (step + 1) * map.step_s, "x", true));
      column.forEach((transactions, bin) => {
        if (!transactions) return;
        const top = Math.round(rows[bin + 1]);
        ctx.globalAlpha = (level(transactions) + 1) / LEVELS;
        ctx.fillRect(left, top, Math.max(right - left, 1), Math.max(Math.round(rows[bin]) - top, 1));
      });
    });
    ctx.restore();
  }

  function histogram(u) {
    const { ctx } = u;
    const px = devicePixelRatio;
    const left = u.bbox.left + u.bbox.width + 6 * px;
    const width = (beside - 34) * px;
    ctx.save();
    ctx.fillStyle = colour;
    ctx.globalAlpha = 0.55;
    map.histogram.forEach((transactions, bin) => {
      const bottom = Math.round(u.valToPos(map.edges_ns[bin], "y", true));
      const top = Math.round(u.valToPos(map.edges_ns[bin + 1], "y", true));
      if (width > 0) ctx.fillRect(left, top, transactions ? Math.max((transactions / longest) * width, px) : 0, Math.max(bottom - top - px, px));
    });
    ctx.globalAlpha = 1;
    ctx.font = `${10 * px}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    let above = Infinity;
    for (const { name, ns, colour: stroke } of lines) {
      const at = u.valToPos(Math.min(Math.max(ns, lowest), highest), "y", true);
      ctx.strokeStyle = ctx.fillStyle = stroke;
      ctx.lineWidth = px;
      ctx.setLineDash([3 * px, 3 * px]);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, at);
      ctx.lineTo(left + Math.max(width, 0), at);
      ctx.stroke();
      // labels that would touch are moved up
      above = Math.min(at, above - 11 * px);
      ctx.fillText(name, left + Math.max(width, 0) + 4 * px, above);
    }
    ctx.restore();
  }

  function describe(u) {
    const step = u.cursor.idx;
    const column = step == null ? null : map.columns[step];
    if (column == null || u.cursor.left < 0) {
      text.textContent = text.dataset.whole;
      return;
    }
    const all = column.reduce((sum, transactions) => sum + transactions, 0);
    const at = new Date((map.start_s + step * map.step_s) * 1000).toLocaleTimeString([], { hourCycle: "h23" });
    const ns = u.cursor.top < 0 ? 0 : u.posToVal(u.cursor.top, "y");
    const bin = map.edges_ns.findIndex((edge) => edge > ns) - 1;
    const these = bin >= 0 && map.edges_ns[bin] ? `, ${numbers.text("count", column[bin] || 0)} of them ${numbers.text("ns", map.edges_ns[bin])} to ${numbers.text("ns", map.edges_ns[bin + 1])}` : "";
    text.textContent = `${at}: ${numbers.text("count", all)} transactions${these}`;
  }

  return new uPlot(
    {
      width: plot.clientWidth,
      height: plot.clientHeight,
      padding: [8, beside, 0, 0],
      legend: { show: false },
      cursor: { ...charts.cursor(), y: true, points: { show: false } },
      select: { show: true },
      scales: {
        x: { time: true, range: () => [map.start_s, map.start_s + steps * map.step_s] },
        y: { distr: 3, range: () => [lowest, highest] },
      },
      axes: [
        charts.timeAxis(),
        { ...charts.axis(), size: 58, splits: () => charts.decades(lowest, highest), filter: (_, splits) => splits, values: (_, splits) => splits.map((ns) => numbers.axis("ns", ns)) },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        ready: [charts.touch],
        draw: [cells, histogram, charts.shade, charts.band],
        setSelect: [charts.selected(map)],
        setCursor: [describe],
      },
    },
    [x, x.map(() => lowest)],
    plot,
  );
});
