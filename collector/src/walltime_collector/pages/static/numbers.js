// Numbers as format.py writes them, so that a chart, a table and a command agree to the digit.
"use strict";
const numbers = (() => {
  const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

  // As Python rounds: of two numbers that are equally near, the even one.
  function fixed(number, digits) {
    const exact = number.toFixed(70);
    const end = exact.indexOf(".") + 1 + digits;
    if (!/^50*$/.test(exact.slice(end)) || Number(exact.slice(0, end).replace(".", "").at(-1)) % 2) return number.toFixed(digits);
    return exact.slice(0, digits ? end : end - 1);
  }

  function precise(number) {
    const decimals = 2 - Number(number.toExponential().split("e")[1]);
    return decimals >= 0 && decimals <= 60 ? Number(fixed(number, decimals)) : Number(number.toPrecision(3));
  }

  const threeDigits = (number) => {
    const rounded = precise(number);
    if (rounded >= 1000) return grouped(fixed(number, 0));
    return fixed(rounded, rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2);
  };

  function duration(ns) {
    if (ns < 0) return "−" + duration(-ns);
    if (ns === 0) return "0 ms";
    for (const [scale, unit] of [[1e3, "µs"], [1e6, "ms"]]) {
      if (precise(ns / scale) < 1000) return `${threeDigits(ns / scale)} ${unit}`;
    }
    return `${threeDigits(ns / 1e9)} s`;
  }

  function count(number) {
    if (number === 0 || number >= 100 || Number.isInteger(number)) return grouped(fixed(number, 0));
    if (number < 0.001) return "<0.001";
    return number < 0.1 ? String(Number(number.toPrecision(1))) : fixed(number, 1).replace(/\.0$/, "");
  }

  function share(part) {
    if (part > 0 && part < 0.001) return "<0.1 %";
    return `${fixed(100 * part, part === 0 || part === 1 ? 0 : 1)} %`;
  }

  function size(bytes) {
    if (bytes < 1000) return `${fixed(bytes, 0)} B`;
    let scaled = bytes;
    for (const unit of ["KiB", "MiB", "GiB", "TiB"]) {
      scaled /= 1024;
      if (scaled < 1000 || unit === "TiB") return `${threeDigits(scaled)} ${unit}`;
    }
  }

  const perSecond = (value) => `${count(precise(value))}/s`;

  // On an axis a value is round already: 1.5 ms, not 1.50 ms.
  const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

  const formats = { ns: duration, "per s": perSecond, share, count, bytes: size };
  const text = (unit, value) => (value === null || value === undefined ? "–" : formats[unit](value));
  const axis = (unit, value) => (value === 0 ? "0" : short(formats[unit](value)));
  return { text, axis };
})();
