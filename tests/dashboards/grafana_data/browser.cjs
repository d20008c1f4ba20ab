// What @grafana/data expects of a browser, from jsdom.
const { JSDOM } = require("jsdom");

const { window } = new JSDOM("<!doctype html><html><body></body></html>", { url: "http://localhost/" });
const names = ["document", "navigator", "localStorage", "HTMLElement", "Node", "Element", "getComputedStyle",
  "MutationObserver", "DOMParser", "Event", "CustomEvent", "SVGElement"];
Object.defineProperty(globalThis, "window", { value: window, configurable: true });
for (const name of names) {
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true, writable: true });
}
