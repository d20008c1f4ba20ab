// How the waterfall of calls is drawn: the map of all calls, the axis, and the rows in sight.
"use strict";
const waterfalls = (() => {
  const AHEAD = 6; // rows that are drawn above and below those in sight
  const MANY = 300; // the map of more calls shows sums
  const time = (ns) => numbers.text("ns", ns);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // All ticks of an axis have one unit, and as many digits as their distance needs.
  function tickText(at, step, last) {
    if (at === 0) return "0";
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([each]) => last >= each) ?? [1, "ns"];
    return `${(at / size).toFixed(Math.max(Math.ceil(-Math.log10(step / size) - 1e-9), 0)).replace("-", "−")} ${unit}`;
  }

  function element(tag, className = "", text = "") {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  }

  class Drawing {
    draw() {
      this.height = matchMedia("(max-width: 600px)").matches ? 38 : 24;
      this.drawMap();
      this.drawWindow();
      this.drawAxis();
      this.drawRows();
    }

    colour(family) {
      return getComputedStyle(document.documentElement).getPropertyValue(`--${family}`).trim();
    }

    drawMap() {
      const { clientWidth: width, clientHeight: height } = this.map;
      if (!width) return;
      const scale = devicePixelRatio || 1;
      this.canvas.width = width * scale;
      this.canvas.height = height * scale;
      const pen = this.canvas.getContext("2d");
      pen.scale(scale, scale);
      const colours = this.data.names.map(([, family]) => this.colour(family));
      if (this.n > MANY) this.drawSums(pen, width, height, colours);
      else this.drawBars(pen, width, height, colours);
    }

    // Each call on a line of its own; those that do not match are pale.
    drawBars(pen, width, height, colours) {
      const across = width / (this.end - this.first);
      const down = (height - 4) / this.n;
      for (const part of [0, 1]) {
        pen.globalAlpha = part ? 1 : 0.18;
        for (let i = 0; i < this.n; i++) {
          if (this.isMatch[i] !== part) continue;
          pen.fillStyle = colours[this.calls.name[i]];
          pen.fillRect((this.calls.at[i] - this.first) * across, 2 + i * down, Math.max(this.calls.took[i] * across, 1), clamp(down - 1, 2, 8));
        }
      }
    }

    // How busy each family was at each time, stacked; calls that do not match are pale, on top.
    drawSums(pen, width, height, colours) {
      const columns = Math.floor(width);
      const across = columns / (this.end - this.first);
      const layers = [...new Set(colours)];
      const busy = layers.map(() => [new Float32Array(columns), new Float32Array(columns)]);
      const whole = new Float32Array(columns);
      for (let i = 0; i < this.n; i++) {
        const sums = busy[layers.indexOf(colours[this.calls.name[i]])][1 - this.isMatch[i]];
        const from = (this.calls.at[i] - this.first) * across;
        const to = Math.min(from + this.calls.took[i] * across, columns);
        for (let x = Math.floor(from); x < to; x++) {
          const part = Math.min(to, x + 1) - Math.max(from, x);
          sums[x] += part;
          whole[x] += part;
        }
      }
      const scale = (height - 2) / Math.max(whole.reduce((most, each) => Math.max(most, each), 0), 1e-9);
      const used = new Float32Array(columns);
      for (const part of [0, 1]) {
        pen.globalAlpha = part ? 0.18 : 1;
        layers.forEach((colour, layer) => {
          pen.fillStyle = colour;
          const sums = busy[layer][part];
          for (let x = 0; x < columns; x++) {
            if (!sums[x]) continue;
            const tall = sums[x] * scale;
            pen.fillRect(x, height - used[x] - tall, 1, tall);
            used[x] += tall;
          }
        });
      }
    }

    drawWindow() {
      const whole = this.end - this.first;
      const left = ((this.from - this.first) / whole) * 100;
      const right = ((this.end - this.to) / whole) * 100;
      this.before.style.left = "0";
      this.before.style.width = `${left}%`;
      this.after.style.right = "0";
      this.after.style.width = `${right}%`;
      this.window.style.left = `${left}%`;
      this.window.style.right = `${right}%`;
      this.window.hidden = left < 0.01 && right < 0.01;
    }

    drawAxis() {
      const length = this.to - this.from;
      const most = Math.max(Math.floor(this.axis.clientWidth / 90), 2);
      const power = 10 ** Math.floor(Math.log10(length / most));
      const step = [1, 2, 5, 10].map((each) => each * power).find((each) => length / each <= most);
      this.axis.replaceChildren();
      this.lines.replaceChildren();
      this.lines.style.height = `${this.shown.length * this.height}px`;
      for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
        const left = `${((at - this.from) / length) * 100}%`;
        const isRoom = (this.to - at) / length > 60 / Math.max(this.axis.clientWidth, 1);
        const tick = element("span", "", isRoom ? tickText(Math.round(at), step, this.to) : "");
        tick.style.left = left;
        this.axis.append(tick);
        const line = element("i");
        line.style.left = left;
        this.lines.append(line);
      }
      if (this.end > this.data.duration && this.data.duration >= this.from && this.data.duration <= this.to) {
        const line = element("i", "response");
        line.style.left = `${((this.data.duration - this.from) / length) * 100}%`;
        this.lines.append(line);
      }
    }

    drawRows() {
      this.sizer.style.height = `${this.shown.length * this.height}px`;
      const sight = this.rows.clientHeight || 600;
      const first = clamp(Math.floor(this.rows.scrollTop / this.height) - AHEAD, 0, this.shown.length);
      const last = clamp(Math.ceil((this.rows.scrollTop + sight) / this.height) + AHEAD, 0, this.shown.length);
      while (this.pool.length < last - first) this.pool.push(this.newRow());
      for (let k = 0; k < this.pool.length; k++) {
        const row = this.pool[k];
        const position = first + ((((k - first) % this.pool.length) + this.pool.length) % this.pool.length); // a row keeps its call
        row.hidden = position >= last;
        if (!row.hidden) this.drawRow(row, position);
      }
      this.none ??= this.rows.appendChild(element("div", "none", "No call matches."));
      this.none.hidden = this.shown.length > 0;
      const active = this.selected >= first && this.selected < last ? `call-${this.shown[this.selected]}` : "";
      if (active) this.rows.setAttribute("aria-activedescendant", active);
      else this.rows.removeAttribute("aria-activedescendant");
    }

    newRow() {
      const row = element("div", "call");
      row.setAttribute("role", "option");
      row.name = element("div", "name");
      row.lane = element("div", "lane");
      row.took = element("div", "took");
      row.label = element("span");
      row.lane.append(row.took, row.label);
      row.append(row.name, row.lane);
      row.call = -1;
      this.rows.append(row);
      return row;
    }

    drawRow(row, position) {
      const i = this.shown[position];
      const at = this.calls.at[i];
      const took = this.calls.took[i];
      row.position = position;
      row.style.transform = `translateY(${position * this.height}px)`;
      row.setAttribute("aria-selected", String(position === this.selected));
      row.setAttribute("aria-setsize", String(this.shown.length));
      row.setAttribute("aria-posinset", String(position + 1));
      if (row.call !== i) {
        row.call = i;
        row.id = `call-${i}`;
        const [name, family] = this.data.names[this.calls.name[i]];
        const swatch = element("i", `f-${family}`);
        row.name.replaceChildren(swatch, element("b", "", name));
        const error = this.text("error", i);
        const result = this.text("result", i);
        if (error) row.name.append(" ", element("span", "error", error));
        if (result && result !== error) row.name.append(" ", element("span", result === "miss" ? "miss" : "", result));
        const what = this.text("text", i) || this.text("address", i);
        if (what) row.name.append(" ", element("code", "", what.slice(0, 200)));
        row.took.className = `took f-${family}${error ? " failed" : ""}`;
        row.title = what.slice(0, 300);
        row.setAttribute("aria-label", [name, error, result, `at ${time(at)}`, `took ${time(took)}`, what.slice(0, 200)].filter(Boolean).join(", "));
      }
      const length = this.to - this.from;
      const left = clamp((at - this.from) / length, -0.01, 1);
      const right = clamp((at + took - this.from) / length, 0, 1.01);
      row.took.style.left = `${left * 100}%`;
      row.took.style.width = `${Math.max(right - left, 0) * 100}%`;
      row.label.textContent = time(took);
      // The label is to the right of the bar, or to its left, or inside of it.
      const isInside = right >= 0.86 && left < 0.12;
      const isRight = right < 0.86;
      row.label.className = isInside ? "inside" : "";
      row.label.style.left = isRight ? `${Math.max(right, 0) * 100}%` : "auto";
      row.label.style.right = isRight ? "auto" : `${(1 - clamp(isInside ? right : left, 0, 1)) * 100}%`;
    }
  }

  return { Drawing, clamp, element, time };
})();
