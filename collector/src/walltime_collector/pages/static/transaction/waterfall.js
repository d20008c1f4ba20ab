// The calls of a transaction on one axis of time: to zoom, to search, to open one. Only rows in sight are elements.
"use strict";
(() => {
  const LEAST_NS = 1000; // the closest zoom
  const HELP = "Drag to zoom, double-click for the whole. Keys: <kbd>↑</kbd> <kbd>↓</kbd> call, <kbd>Enter</kbd> open, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>←</kbd> <kbd>→</kbd> move, <kbd>0</kbd> whole, <kbd>/</kbd> search";
  const { clamp, element, time } = waterfalls;
  const milliseconds = (ns) => `${(ns / 1e6).toFixed(3).replace(/\B(?=(\d{3})+\.)/g, ",").replace("-", "−")} ms`;

  function button(text, label, action) {
    const made = element("button", "", text);
    made.type = "button";
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  }

  class Waterfall extends waterfalls.Input {
    constructor(root, data) {
      super();
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
