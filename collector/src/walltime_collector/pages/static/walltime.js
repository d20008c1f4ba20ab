// What every view does in the browser: draws charts, writes times in the browser's zone, keeps live pages fresh.
"use strict";
(() => {
  let etag = "";
  let fetched = Date.now();

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "the browser's zone";
  const pad = (number) => String(number).padStart(2, "0");

  function localTimes(root) {
    for (const each of root.querySelectorAll("time[datetime]")) {
      const at = new Date(each.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
      const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
      each.textContent = new Date().toDateString() === at.toDateString() ? clock : `${day} ${clock}`;
      each.title = each.dateTime;
    }
    for (const each of root.querySelectorAll("[data-zone]")) each.textContent = zone;
  }

  function show(root = document) {
    localTimes(document);
    charts.drawAll(root);
    document.dispatchEvent(new CustomEvent("walltime:show", { detail: { root } }));
  }

  function isBusy() {
    const active = document.activeElement;
    return (
      document.hidden ||
      (active && (active.matches("input, select, textarea, summary") || active.closest("#live a, #live button, #live [tabindex]"))) ||
      document.querySelector("details.filter[open], .plot:hover, #live [data-busy]") ||
      String(getSelection())
    );
  }

  async function refresh() {
    const live = document.querySelector("#live[data-live]");
    if (!live || Date.now() - fetched < live.dataset.live * 1000 || isBusy()) return;
    fetched = Date.now();
    const address = location.href;
    try {
      const response = await fetch(address, { headers: { Accept: "text/html", ...(etag ? { "If-None-Match": etag } : {}) } });
      if (response.status === 401) location.reload();
      if (response.status !== 200 || address !== location.href || isBusy()) return;
      etag = response.headers.get("ETag") || "";
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
      if (!fresh || !live.isConnected) return;
      live.replaceWith(document.adoptNode(fresh));
      htmx.process(fresh);
      show(fresh);
    } catch {
      // the collector is away: the next try is as late as the next answer
    }
  }

  // Empty fields of a form are no parameters.
  document.addEventListener("htmx:configRequest", (event) => {
    const parameters = event.detail.parameters;
    for (const name of Object.keys(parameters)) if (parameters[name] === "") delete parameters[name];
    if (event.detail.verb === "get" && parameters.time === "last 1h") delete parameters.time;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status === 401) {
      event.preventDefault();
      location.reload();
    }
  });
  // A response replaces several elements; they are shown at once, before the browser paints. A part of a view that was
  // loaded later leaves the charts beside it as they are.
  const replaced = new Set();
  let frame = 0;
  function showSoon(event) {
    const part = event.target;
    replaced.add(part.parentElement && part.parentElement.closest("#live") ? part : document);
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (replaced.has(document)) {
        etag = "";
        fetched = Date.now();
        show();
        if (document.activeElement === document.body) document.getElementById("view")?.focus({ preventScroll: true });
      } else {
        replaced.forEach(show);
      }
      replaced.clear();
    });
  }
  for (const name of ["htmx:afterSwap", "htmx:oobAfterSwap", "htmx:historyRestore"]) document.addEventListener(name, showSoon);
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector("details.filter[open]");
    if (event.key === "Escape" && open) open.removeAttribute("open");
  });
  document.addEventListener("click", (event) => {
    const open = document.querySelector("details.filter[open]");
    if (open && !open.contains(event.target)) open.removeAttribute("open");
  });
  setInterval(refresh, 1000);
  show();
})();
