// What a person would see to be wrong in the drawn board, one line each.
const SLACK_PX = 1;
const SHORT = /^[\d.,]+ ?[a-zµ%]*$|^[0-9a-f]{8}$|^[A-Z]?[a-z]{0,8}$/; // numbers, ids and single words; statements may be cut
const texts = (root) => [...root.querySelectorAll("*")].filter((each) =>
  [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));

// Its letters, measured; what hides them is the first box around them that hides anything.
const isCut = (each) => {
  const range = document.createRange();
  range.selectNodeContents(each);
  const letters = range.getBoundingClientRect();
  for (let at = each; at && !at.matches("[data-panel]"); at = at.parentElement) {
    if (getComputedStyle(at).overflowX === "visible" && !at.matches("[role=columnheader], td, th, h2")) continue;
    const box = at.getBoundingClientRect(), { textOverflow, paddingRight } = getComputedStyle(at);
    const right = box.right - (textOverflow === "ellipsis" ? parseFloat(paddingRight) : 0);
    if (letters.right > right + SLACK_PX || letters.left < box.left - SLACK_PX) return true;
  }
  return false;
};

export function problems({ isEmptyAllowed = false } = {}) {
  const found = [];
  const page = document.querySelector(".page").getBoundingClientRect();
  for (const section of document.querySelectorAll("[data-panel]")) {
    const name = section.querySelector("h2")?.textContent || `panel ${section.dataset.panel}`;
    const say = (what) => found.push(`${name}: ${what}`);
    const box = section.getBoundingClientRect();
    if (box.right > page.right + SLACK_PX) say("is wider than the page");
    for (const each of section.querySelectorAll(".failed")) say(`error: ${each.textContent.slice(0, 300)}`);
    if (!isEmptyAllowed && section.querySelector(".no-data")) say("No data");
    for (const each of section.querySelectorAll("h2")) if (isCut(each)) say("its title is cut");
    for (const header of section.querySelectorAll("[role=columnheader]")) {
      if (header.getBoundingClientRect().height && texts(header).some(isCut)) say(`the heading “${header.textContent}” is cut`);
    }
    const cells = [...section.querySelectorAll("[role=gridcell], [role=cell]")];
    const cut = cells.filter((cell) => SHORT.test(cell.textContent) && texts(cell).some(isCut)).map((cell) => cell.textContent);
    if (cut.length) say(`${cut.length} cells are cut: ${cut.slice(0, 3).join(", ")}`);
    for (const grid of section.querySelectorAll("[role=grid], [role=table]")) {
      for (const each of [grid, ...grid.querySelectorAll("div")]) {
        const { overflowX } = getComputedStyle(each);
        if (["auto", "scroll"].includes(overflowX) && each.scrollWidth > each.clientWidth + SLACK_PX) {
          say(`its table is ${each.scrollWidth - each.clientWidth} px wider than the panel`);
        }
      }
    }
    if (section.querySelector(".uplot")) {
      const hidden = texts(section).filter((each) => each.closest("tbody, ul, thead") && isCut(each)).map((each) => each.textContent);
      if (hidden.length) say(`${hidden.length} texts of its legend are cut: ${hidden.slice(0, 3).join(", ")}`);
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
