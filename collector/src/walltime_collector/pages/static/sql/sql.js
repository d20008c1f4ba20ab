// The SQL editor: runs the statement at /api/sql, shows rows or a chart, and marks in the statement what was refused.
"use strict";
(() => {
  const MOST_LINK = 4000;
  const root = document.getElementById("sql");
  if (!root || root.dataset.ready) return;
  root.dataset.ready = "yes";

  const one = (selector) => root.querySelector(selector);
  const editor = one("#statement");
  const marks = one(".marks");
  const run = one(".run");
  const cancel = one(".cancel");
  const refused = one(".refused");
  const result = one(".result");
  const summary = one(".summary");
  const drawn = one(".drawn");
  const rows = one(".rows");
  let running = null;
  let show = null;
  let isReleased = false;

  // ---- the editor

  function insert(text) {
    editor.focus();
    // execCommand keeps the browser's undo; setRangeText does not
    if (!document.execCommand("insertText", false, text)) editor.setRangeText(text, editor.selectionStart, editor.selectionEnd, "end");
  }

  function mark(from, to) {
    marks.textContent = "";
    if (from === null) return;
    const text = editor.value;
    const part = document.createElement("mark");
    part.textContent = text.slice(from, to) || " ";
    marks.append(text.slice(0, from), part, `${text.slice(to)}\n`);
    marks.scrollTop = editor.scrollTop;
  }

  editor.addEventListener("scroll", () => {
    marks.scrollTop = editor.scrollTop;
  });
  editor.addEventListener("input", () => mark(null));
  editor.addEventListener("blur", () => {
    isReleased = false;
  });
  editor.addEventListener("keydown", (event) => {
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    } else if (event.key === "Escape") {
      isReleased = true; // the next Tab moves the focus
    } else if (event.key === "Tab" && !hasModifier && !isReleased) {
      event.preventDefault();
      insert("    ");
    } else if (event.key !== "Tab") {
      isReleased = false;
    }
  });

  one(".editor").addEventListener("submit", (event) => {
    event.preventDefault();
    start();
  });
  root.addEventListener("click", (event) => {
    const example = event.target.closest("[data-statement]");
    if (example && !running) {
      editor.focus();
      editor.select();
      insert(example.dataset.statement);
      start();
    }
    const inserted = event.target.closest("[data-insert]");
    if (inserted) insert(/^[A-Za-z_]\w*$/.test(inserted.dataset.insert) ? inserted.dataset.insert : `\`${inserted.dataset.insert}\``);
  });

  // ---- running

  function onEscape(event) {
    if (!root.isConnected) return document.removeEventListener("keydown", onEscape);
    if (event.key === "Escape" && running) running.abort();
  }
  document.addEventListener("keydown", onEscape);
  cancel.addEventListener("click", () => running && running.abort());
  // another view took the place of this one: its statement ends
  document.addEventListener("walltime:show", () => !root.isConnected && running && running.abort());

  function remember(statement) {
    const query = `?q=${encodeURIComponent(statement)}`;
    if (!statement.trim() || query.length > MOST_LINK || new URLSearchParams(location.search).get("q") === statement) return;
    history.pushState({ htmx: true }, "", `/sql${query}`);
  }

  async function start() {
    if (running) return;
    const statement = editor.value;
    const controller = (running = new AbortController());
    const began = performance.now();
    remember(statement);
    mark(null);
    refused.hidden = true;
    run.disabled = true;
    cancel.hidden = false;
    result.hidden = false;
    result.classList.add("running");
    rows.replaceChildren(); // a thousand rows that are still there cost seconds of layout
    drawn.replaceChildren();
    summary.textContent = "running …";
    const clock = setInterval(() => {
      summary.textContent = `running, ${seconds(performance.now() - began)} …`;
    }, 500);
    try {
      const response = await fetch("/api/sql", {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify({ sql: statement }),
        signal: controller.signal,
      });
      if (response.status === 401) return location.reload();
      const text = await response.text();
      show ??= sqlAnswer(root);
      if (response.ok) show(text, JSON.parse(response.headers.get("X-ClickHouse-Summary") || "{}"));
      else refuse(statement, problem(text, response.status));
    } catch (error) {
      if (controller.signal.aborted) refuse("", { what: `Cancelled after ${seconds(performance.now() - began)}.`, what_now: "The database ended the statement too." });
      else refuse("", { what: "The collector does not answer.", what_now: `Is it running? (${error.message})` });
    } finally {
      clearInterval(clock);
      result.classList.remove("running");
      running = null;
      run.disabled = false;
      cancel.hidden = true;
    }
  }

  const seconds = (ms) => numbers.text("ns", Math.round(ms * 1e6));

  function problem(text, status) {
    try {
      return JSON.parse(text).error;
    } catch {
      return { what: `The collector answered with status ${status}.`, what_now: "See its log." };
    }
  }

  // ---- what was refused, and where

  function refuse(statement, { what, what_now }) {
    result.hidden = true;
    refused.hidden = false;
    refused.querySelector(".what").textContent = what.replace(/^Code: \d+\. DB::Exception: /, "");
    refused.querySelector(".what-now").textContent = what_now === "correct it" ? "" : what_now || "";
    const go = refused.querySelector(".go");
    const place = statement && position(statement, what);
    go.hidden = !place;
    if (!place) return;
    mark(...place);
    const before = statement.slice(0, place[0]).split("\n");
    go.textContent = `Line ${before.length}, column ${before[before.length - 1].length + 1}`;
    go.onclick = () => {
      editor.focus();
      editor.setSelectionRange(...place);
    };
  }

  // ClickHouse names a position, in bytes from 1; the guard and the analyzer name what they refuse.
  function position(statement, what) {
    const failed = /failed at position (\d+)/.exec(what);
    if (failed) {
      const bytes = new TextEncoder().encode(statement);
      const from = Math.min(new TextDecoder().decode(bytes.slice(0, Number(failed[1]) - 1)).length, statement.length);
      const word = /^(\w+|\S)/.exec(statement.slice(from));
      if (word) return [from, from + word[0].length];
      const last = /\S+\s*$/.exec(statement);
      return last ? [last.index, statement.trimEnd().length] : null;
    }
    const quoted = [...what.matchAll(/`([^`]{1,80})`|'([^']{1,80})'/g)].map((each) => each[1] || each[2]);
    const plain = /^(.{1,60}?) is not allowed/.exec(what);
    for (const name of [...quoted, ...(plain ? [plain[1].replace(/^an? /, "").replace(/Query$/, "")] : [])]) {
      for (const part of [name, name.split(".").pop()]) {
        const at = outsideOfTexts(statement, part);
        if (at !== null) return [at, at + part.length];
      }
    }
    return null;
  }

  function outsideOfTexts(statement, name) {
    const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const pattern = new RegExp(`'(?:[^'\\\\]|\\\\.|'')*'|--[^\\n]*|/\\*[\\s\\S]*?\\*/|(?<!\\w)(${escaped})(?!\\w)`, "gi");
    for (const match of statement.matchAll(pattern)) if (match[1] !== undefined) return match.index;
    return null;
  }
})();
