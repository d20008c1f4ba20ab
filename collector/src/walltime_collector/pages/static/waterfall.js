// The calls of a transaction on one axis of time: to zoom, to search, to open one. Only rows in sight are elements.
"use strict";
(() => {
  const AHEAD = 6; // rows that are drawn above and below those in sight
  const LEAST_NS = 1000; // the closest zoom
  const MANY = 300; // the map of more calls shows sums
  const CLICK_PX = 4; // a shorter drag is a click
  const HELP = "Drag to zoom, double-click for the whole. Keys: <kbd>↑</kbd> <kbd>↓</kbd> call, <kbd>Enter</kbd> open, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>←</kbd> <kbd>→</kbd> move, <kbd>0</kbd> whole, <kbd>/</kbd> search";
  const time = (ns) => numbers.text("ns", ns);
  const milliseconds = (ns) => `${(ns / 1e6).toFixed(3).replace(/\B(?=(\d{3})+\.)/g, ",").replace("-", "−")} ms`;
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

  function button(text, label, action) {
    const made = element("button", "", text);
    made.type = "button";
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  }

  class Waterfall {
    constructor(root, data) {
      this.data = data;
      this.calls = data.calls;
      this.n = data.calls.at.length;
      this.first = 0;
      this.end = data.duration;
      for (let i = 0; i < this.n; i++) {
        this.first = Math.min(this.first, this.calls.at[i]);
        this.end = Math.max(this.end, this.calls.at[i] + this.calls.took[i]);
      }
      this.end = Math.max(this.end, this.first + LEAST_NS);
      this.from = this.first;
      this.to = this.end;
      this.query = "";
      this.texts = data.texts.map((text) => text.toLowerCase());
      this.selected = -1; // a position in `shown`
      this.opened = -1; // a number of a call
      this.build(root);
      this.filter();
    }

    text(column, i) {
      return this.data.texts[this.calls[column][i]];
    }

    build(root) {
      this.root = root;
      root.replaceChildren();
      const tools = element("div", "tools");
      const label = element("label", "field");
      label.append(element("span", "", "Search"));
      this.search = element("input");
      this.search.type = "search";
      this.search.placeholder = "statement, key, server, file";
      this.search.autocomplete = "off";
      this.search.spellcheck = false;
      label.append(this.search);
      this.count = element("output");
      this.count.setAttribute("aria-live", "polite");
      const zooms = element("span", "zooms");
      zooms.setAttribute("role", "group");
      zooms.setAttribute("aria-label", "Zoom");
      zooms.append(
        button("−", "Zoom out", () => this.zoom(2)),
        button("+", "Zoom in", () => this.zoom(0.5)),
        button("whole", "Show the whole transaction", () => this.show(this.first, this.end)),
      );
      tools.append(label, this.count, zooms);

      this.map = element("div", "map");
      this.map.setAttribute("aria-hidden", "true");
      this.canvas = element("canvas");
      this.before = element("div", "shade");
      this.after = element("div", "shade");
      this.window = element("div", "window");
      this.map.append(this.canvas, this.before, this.after, this.window);
      this.axis = element("div", "axis");
      this.axis.setAttribute("aria-hidden", "true");

      this.rows = element("div", "rows");
      this.rows.tabIndex = 0;
      this.rows.setAttribute("role", "listbox");
      this.rows.setAttribute("aria-label", "Calls in time order");
      this.lines = element("div", "lines");
      this.lines.setAttribute("aria-hidden", "true");
      this.sizer = element("div");
      this.sizer.setAttribute("role", "presentation");
      this.rows.append(this.lines, this.sizer);
      this.pool = [];

      this.detail = element("div", "detail");
      this.detail.setAttribute("role", "region");
      this.detail.setAttribute("aria-label", "The selected call");
      this.detail.hidden = true;
      const help = element("div", "help");
      help.innerHTML = HELP;
      root.append(tools, this.map, this.axis, this.rows, this.detail, help);
      root.hidden = false;

      this.search.addEventListener("input", () => this.filter());
      this.search.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && this.search.value) {
          this.search.value = "";
          this.filter();
        } else if (event.key === "ArrowDown" || event.key === "Enter") this.rows.focus();
        else return;
        event.preventDefault();
      });
      this.rows.addEventListener("scroll", () => this.later(() => this.drawRows()), { passive: true });
      this.rows.addEventListener("keydown", (event) => this.key(event));
      this.rows.addEventListener("focus", () => {
        if (this.selected < 0 && this.rows.matches(":focus-visible")) this.select(0);
      });
      this.rows.addEventListener("click", (event) => {
        const row = event.target.closest(".call");
        if (!row || this.dragged) return;
        this.select(row.position);
        this.open(this.shown[row.position]);
      });
      for (const area of [this.map, this.rows]) {
        area.addEventListener("pointerdown", (event) => this.startDrag(event, area));
        area.addEventListener("dblclick", () => this.show(this.first, this.end));
        area.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      }
      this.resizes = new ResizeObserver(() => this.later(() => this.draw()));
      this.resizes.observe(root);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later(() => this.draw()));
    }

    later(action) {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        if (this.root.isConnected) action();
        else this.resizes.disconnect();
      });
    }

    // ---- which calls are shown

    matches(i) {
      if (!this.words.length) return true;
      const name = this.data.names[this.calls.name[i]][0].toLowerCase();
      const texts = this.texts;
      const { text, address, result, error, source } = this.calls;
      return this.words.every(
        (word) =>
          name.includes(word) || texts[text[i]].includes(word) || texts[address[i]].includes(word) ||
          texts[result[i]].includes(word) || texts[error[i]].includes(word) || texts[source[i]].includes(word),
      );
    }

    filter() {
      this.words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.isMatch = new Uint8Array(this.n);
      for (let i = 0; i < this.n; i++) this.isMatch[i] = this.matches(i) ? 1 : 0;
      this.drawMap();
      this.inRange();
      this.rows.scrollTop = 0;
      this.draw();
    }

    inRange() {
      const kept = this.selected >= 0 ? this.shown[this.selected] : -1;
      const isWhole = this.from <= this.first && this.to >= this.end;
      const { at, took, own } = this.calls;
      this.shown = [];
      let sum = 0;
      for (let i = 0; i < this.n; i++) {
        if (!this.isMatch[i] || (!isWhole && (at[i] > this.to || at[i] + took[i] < this.from))) continue;
        this.shown.push(i);
        sum += own[i];
      }
      this.selected = kept < 0 ? -1 : this.shown.indexOf(kept);
      const all = numbers.text("count", this.n);
      const some = numbers.text("count", this.shown.length);
      this.count.textContent = this.shown.length === this.n ? `${all} calls, ${time(sum)}` : `${some} of ${all} calls, ${time(sum)}`;
    }

    show(from, to) {
      const length = clamp(to - from, LEAST_NS, this.end - this.first);
      this.from = clamp(from, this.first, this.end - length);
      this.to = this.from + length;
      const top = this.shown[Math.floor(this.rows.scrollTop / this.height)];
      this.inRange();
      this.draw();
      const kept = this.selected >= 0 ? this.selected : this.shown.findIndex((i) => i >= top);
      if (kept >= 0) this.scrollTo(kept);
    }

    zoom(factor, around) {
      const call = this.selected >= 0 ? this.shown[this.selected] : -1;
      const middle = call >= 0 ? this.calls.at[call] + this.calls.took[call] / 2 : (this.from + this.to) / 2;
      const at = around ?? clamp(middle, this.from, this.to);
      this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    // ---- drawing

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

    // ---- selecting and opening

    scrollTo(position) {
      const top = position * this.height;
      if (top < this.rows.scrollTop) this.rows.scrollTop = top;
      else if (top + this.height > this.rows.scrollTop + this.rows.clientHeight) this.rows.scrollTop = top + this.height - this.rows.clientHeight;
      this.drawRows();
    }

    select(position) {
      if (!this.shown.length) return;
      this.selected = clamp(position, 0, this.shown.length - 1);
      this.scrollTo(this.selected);
      if (!this.detail.hidden) this.open(this.shown[this.selected]);
    }

    open(i) {
      this.opened = i;
      const [name, family] = this.data.names[this.calls.name[i]];
      const header = element("header");
      const buttons = element("span", "buttons");
      const length = Math.max(this.calls.took[i], LEAST_NS);
      buttons.append(
        button("zoom", "Zoom to this call", () => this.show(this.calls.at[i] - length * 0.2, this.calls.at[i] + length * 1.2)),
        button("close", "Close the detail", () => this.close()),
      );
      header.append(element("b", "", name), element("span", "", `call ${numbers.text("count", i + 1)} of ${numbers.text("count", this.n)}`), buttons);
      this.detail.replaceChildren(header);
      const text = this.text("text", i);
      if (text) this.detail.append(element("pre", "", text));
      const list = element("dl");
      const add = (term, words, className = "") => {
        if (words) list.append(element("dt", "", term), element("dd", className, words));
      };
      const { at, took, own, connection } = this.calls;
      add("time", `${time(took[i])}, from ${milliseconds(at[i])} to ${milliseconds(at[i] + took[i])}`);
      if (own[i] !== took[i]) add("of it", `${time(own[i])} in no call inside of it`);
      add("error", this.text("error", i), "bad");
      if (this.text("result", i) !== this.text("error", i)) add("result", this.text("result", i));
      add("server", this.text("address", i));
      add("connection", connection[i] ? String(connection[i]) : "");
      add("called by", this.text("source", i));
      const server = this.data.server[i];
      if (server) {
        const words = element("dd");
        for (const [each, severity] of server) words.append(element("span", `remark ${severity}`, each));
        list.append(element("dt", "", "server log"), words);
      }
      this.detail.append(list);
      this.detail.hidden = false;
    }

    close() {
      this.detail.hidden = true;
      this.opened = -1;
      this.rows.focus();
    }

    // ---- keyboard and pointer

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const page = Math.max(Math.floor(this.rows.clientHeight / this.height) - 1, 1);
      const length = this.to - this.from;
      const here = Math.max(this.selected, 0);
      const actions = {
        ArrowDown: () => this.select(this.selected + 1),
        ArrowUp: () => this.select(here - 1),
        PageDown: () => this.select(here + page),
        PageUp: () => this.select(here - page),
        Home: () => this.select(0),
        End: () => this.select(this.shown.length - 1),
        Enter: () => this.selected >= 0 && this.open(this.shown[this.selected]),
        " ": () => this.selected >= 0 && this.open(this.shown[this.selected]),
        Escape: () => (this.detail.hidden ? this.show(this.first, this.end) : this.close()),
        ArrowLeft: () => this.show(this.from - length / 4, this.to - length / 4),
        ArrowRight: () => this.show(this.from + length / 4, this.to + length / 4),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        0: () => this.show(this.first, this.end),
        "/": () => this.search.focus(),
      };
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    }

    // The time under a pointer; on the map of the whole, elsewhere of the part in sight.
    timeAt(event, area) {
      const box = (area === this.map ? this.map : this.axis).getBoundingClientRect();
      const part = clamp((event.clientX - box.left) / box.width, 0, 1);
      return area === this.map ? this.first + part * (this.end - this.first) : this.from + part * (this.to - this.from);
    }

    startDrag(event, area) {
      this.dragged = false;
      if (event.button || event.pointerType === "touch" && area !== this.map) return;
      if (event.clientX < this.axis.getBoundingClientRect().left || event.clientX > this.axis.getBoundingClientRect().right - (area === this.rows ? 14 : 0)) return;
      const startX = event.clientX;
      const start = this.timeAt(event, area);
      const box = area.getBoundingClientRect();
      const mark = element("div", "drag");
      const move = (moved) => {
        if (Math.abs(moved.clientX - startX) < CLICK_PX && !this.dragged) return;
        if (!this.dragged) {
          this.dragged = true;
          area.append(mark);
          area.setPointerCapture?.(event.pointerId);
        }
        const edge = this.axis.getBoundingClientRect();
        const x = clamp(moved.clientX, edge.left, edge.right);
        mark.style.left = `${Math.min(startX, x) - box.left}px`;
        mark.style.width = `${Math.abs(x - startX)}px`;
        mark.style.height = area === this.rows ? `${this.rows.scrollHeight}px` : "";
      };
      const end = (ended) => {
        area.removeEventListener("pointermove", move);
        area.removeEventListener("pointerup", end);
        area.removeEventListener("pointercancel", end);
        mark.remove();
        if (!this.dragged || ended.type === "pointercancel") return;
        const other = this.timeAt(ended, area);
        this.show(Math.min(start, other), Math.max(start, other));
        setTimeout(() => (this.dragged = false));
      };
      area.addEventListener("pointermove", move);
      area.addEventListener("pointerup", end);
      area.addEventListener("pointercancel", end);
      event.preventDefault(); // no text is selected; the focus is set here
      this.rows.focus({ preventScroll: true });
    }

    wheel(event) {
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey) this.zoom(Math.exp(clamp(event.deltaY, -80, 80) / 200), this.timeAt(event, event.currentTarget));
      else if (isSideways && (this.from > this.first || this.to < this.end)) {
        const moved = ((event.deltaX || event.deltaY) / Math.max(this.axis.clientWidth, 1)) * (this.to - this.from);
        this.show(this.from + moved, this.to + moved);
      } else return;
      event.preventDefault();
    }
  }

  function start() {
    for (const root of document.querySelectorAll("[data-waterfall]")) {
      if (root.childElementCount) continue;
      new Waterfall(root, JSON.parse(document.getElementById(root.dataset.waterfall).textContent));
      if (!new URLSearchParams(location.search).has("calls")) document.querySelector(".call-table")?.removeAttribute("open");
    }
  }

  document.addEventListener("walltime:show", start);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select, .rows")) return;
    const search = document.querySelector(".call-waterfall input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
  });
  if (document.readyState !== "loading") start();
  else document.addEventListener("DOMContentLoaded", start);
})();
