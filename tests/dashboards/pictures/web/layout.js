// Where Grafana puts panels: rows opened, the grid packed upwards, cells of 30 px with 8 px between them.
const COLUMNS = 24, CELL_PX = 30, MARGIN_PX = 8, PADDING_PX = 16, SCROLL_BAR_PX = 18;
const DOCKED_PX = 300, DOCKED_FROM_PX = 1440;

export const menuPx = (width) => (width >= DOCKED_FROM_PX ? DOCKED_PX : 0);
export const gridPx = (width) => width - menuPx(width) - 2 * PADDING_PX - SCROLL_BAR_PX;

// All panels in order, those of closed rows too, as if the rows had been opened.
function opened(panels) {
  const found = [];
  let shift = 0;
  for (const panel of [...panels].sort((a, b) => a.gridPos.y - b.gridPos.y || a.gridPos.x - b.gridPos.x)) {
    const { gridPos } = panel, y = gridPos.y + shift;
    found.push({ ...panel, gridPos: { ...gridPos, y } });
    if (panel.type !== "row" || !panel.panels?.length) continue;
    const first = Math.min(...panel.panels.map((each) => each.gridPos.y));
    const last = Math.max(...panel.panels.map((each) => each.gridPos.y + each.gridPos.h));
    for (const each of panel.panels) {
      found.push({ ...each, gridPos: { ...each.gridPos, y: y + gridPos.h + each.gridPos.y - first } });
    }
    shift += last - first;
  }
  return found;
}

export function placed(panels, width) {
  const cellPx = (gridPx(width) + MARGIN_PX) / COLUMNS;
  const done = [];
  const meets = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  for (const panel of opened(panels)) {
    const at = { ...panel.gridPos };
    while (at.y > 0 && !done.some((each) => meets({ ...at, y: at.y - 1 }, each.gridPos))) at.y -= 1;
    done.push({ ...panel, gridPos: at });
  }
  return done.map((panel) => ({
    ...panel,
    px: {
      left: panel.gridPos.x * cellPx, top: panel.gridPos.y * (CELL_PX + MARGIN_PX),
      width: panel.gridPos.w * cellPx - MARGIN_PX, height: panel.gridPos.h * (CELL_PX + MARGIN_PX) - MARGIN_PX,
    },
  }));
}
