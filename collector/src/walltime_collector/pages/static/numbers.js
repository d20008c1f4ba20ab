// Numbers as format.py writes them, so that a chart, a table and a command agree to the digit.
"use strict";
const numbers = (() => {
  const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

  const threeDigits = (number) => {
    const rounded = Number(number.toPrecision(3));
    if (rounded >= 1000) return grouped(number.toFixed(0));
    return rounded.toFixed(rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2);
  };

  function duration(ns) {
    if (ns < 0) return "−" + duration(-ns);
    if (ns === 0) return "0 ms";
    for (const [scale, unit] of [[1e3, "µs"], [1e6, "ms"]]) {
      if (Number((ns / scale).toPrecision(3)) < 1000) return `${threeDigits(ns / scale)} ${unit}`;
    }
    return `${threeDigits(ns / 1e9)} s`;
  }

  function count(number) {
    if (number === 0 || number >= 100 || Number.isInteger(number)) return grouped(number.toFixed(0));
    if (number < 0.001) return "<0.001";
    return number < 0.1 ? String(Number(number.toPrecision(1))) : number.toFixed(1).replace(/\.0$/, "");
  }

  function share(part) {
    if (part > 0 && part < 0.001) return "<0.1 %";
    return `${(100 * part).toFixed(part === 0 || part === 1 ? 0 : 1)} %`;
  }

  const perSecond = (value) => `${count(Number(value.toPrecision(3)))}/s`;

  // On an axis a value is round already: 1.5 ms, not 1.50 ms.
  const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

  const formats = { ns: duration, "per s": perSecond, share, count };
  const text = (unit, value) => (value === null || value === undefined ? "–" : formats[unit](value));
  const axis = (unit, value) => (value === 0 ? "0" : short(formats[unit](value)));
  return { text, axis };
})();
