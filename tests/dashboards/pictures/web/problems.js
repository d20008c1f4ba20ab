// What a person would see to be wrong in the drawn board, one line each.
const SLACK_PX = 1;
const texts = (root) => [...root.querySelectorAll("*")].filter((each) =>
  [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
const isCut = (each) => {
  for (let at = each; at && !at.matches("section"); at = at.parentElement) {
    const { overflowX } = getComputedStyle(at);
    if (overflowX !== "visible" && at.scrollWidth > at.clientWidth + SLACK_PX && at.clientWidth) return true;
    if (at.matches("[role=columnheader], td, th, h2")) return at.scrollWidth > at.clientWidth + SLACK_PX && at.clientWidth > 0;
  }
  return false;
};

export function problems({ isEmptyAllowed = false } = {}) {
  const found = [];
  const page = document.querySelector(".page").getBoundingClientRect();
  for (const section of document.querySelectorAll("section")) {
    const name = section.querySelector("h2")?.textContent || `panel ${section.dataset.panel}`;
    const say = (what) => found.push(`${name}: ${what}`);
    const box = section.getBoundingClientRect();
    if (box.right > page.right + SLACK_PX) say("is wider than the page");
    for (const each of section.querySelectorAll(".failed")) say(`error: ${each.textContent.slice(0, 300)}`);
    if (!isEmptyAllowed && section.querySelector(".no-data")) say("No data");
    for (const each of section.querySelectorAll("h2")) if (isCut(each)) say("its title is cut");
    for (const header of section.querySelectorAll("[role=columnheader]")) {
      if (texts(header).some(isCut)) say(`the heading “${header.textContent}” is cut`);
    }
    for (const grid of section.querySelectorAll("[role=grid], [role=table]")) {
      for (const each of [grid, ...grid.querySelectorAll("div")]) {
        const { overflowX } = getComputedStyle(each);
        if (["auto", "scroll"].includes(overflowX) && each.scrollWidth > each.clientWidth + SLACK_PX) {
          say(`its table is ${each.scrollWidth - each.clientWidth} px wider than the panel`);
        }
      }
    }
    for (const legend of section.querySelectorAll("tbody, ul")) {
      const frame = legend.closest("[class*=scrollbar], [data-overlayscrollbars], [class*=ScrollContainer]") ?? legend.parentElement;
      if (!section.querySelector(".uplot")) continue;
      const inside = legend.getBoundingClientRect(), outside = frame.getBoundingClientRect();
      if (inside.right > outside.right + SLACK_PX) say("its legend is cut at the right");
    }
    if (section.querySelector(".uplot")) {
      for (const each of texts(section).filter((text) => text.closest("tbody, ul, thead"))) {
        if (isCut(each)) say(`the legend’s “${each.textContent}” is cut`);
      }
      for (const each of section.querySelectorAll("*")) {
        const { overflowX, overflowY } = getComputedStyle(each);
        if (["auto", "scroll"].includes(overflowX) && each.scrollWidth > each.clientWidth + SLACK_PX) say("its legend scrolls sideways");
        if (["auto", "scroll"].includes(overflowY) && each.scrollHeight > each.clientHeight + SLACK_PX) {
          say(`its legend scrolls: ${each.scrollHeight} px in ${each.clientHeight} px`);
        }
      }
    }
    if (section.dataset.type === "stat") for (const each of texts(section)) if (isCut(each)) say(`the tile’s “${each.textContent}” is cut`);
  }
  return [...new Set(found)];
}
