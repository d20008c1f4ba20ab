// A whole board in the window: window.intervals() says how far apart a panel's points are, window.draw() draws.
import React from "react";
import "@grafana/react-data-grid/lib/styles.css";
import { createRoot } from "react-dom/client";
import { createTheme, dateTime, rangeUtil, ThemeContext } from "@grafana/data";
import { GlobalStyles, PanelChrome, PanelContextProvider, PortalContainer } from "@grafana/ui";
import { EventBusSrv } from "@grafana/data";
import { drawable, replacer } from "./fields.js";
import { gridPx, menuPx, placed } from "./layout.js";
import { Bars, Heat, Text, Trace } from "./others.jsx";
import { Series } from "./series.jsx";
import { Rows, Tiles } from "./values.jsx";
import { problems } from "./problems.js";

let root;
const DRAWN = { timeseries: Series, table: Rows, stat: Tiles, text: Text, heatmap: Heat, barchart: Bars, traces: Trace };

function rangeOf({ from, to }) {
  const range = { from: dateTime(from), to: dateTime(to) };
  return { ...range, raw: range };
}

window.intervals = (board, width, time) =>
  Object.fromEntries(
    placed(board.panels, width).map(({ id, px, interval, maxDataPoints }) => {
      const points = maxDataPoints ?? Math.floor(px.width);
      return [id, rangeUtil.calculateInterval(rangeOf(time), points, interval).intervalMs / 1000];
    })
  );

class Contained extends React.Component {
  state = {};
  static getDerivedStateFromError = (error) => ({ error });
  render() {
    return this.state.error ? <div className="failed">{String(this.state.error)}</div> : this.props.children;
  }
}

function Inside({ panel, failure, ...rest }) {
  const Kind = DRAWN[panel.type];
  if (!Kind) return <div className="failed">This picture cannot draw a panel of type {panel.type}.</div>;
  const empty = !["text", "stat"].includes(panel.type) && !rest.frames.some(({ length }) => length);
  if (failure || empty) return <div className={failure ? "failed" : "no-data"}>{failure ?? "No data"}</div>;
  return <Kind panel={panel} {...rest} />;
}

function Panel({ panel, replace, failure, ...rest }) {
  const title = replace(panel.title ?? "");
  const { width, height } = panel.px;
  if (panel.type === "row") return <div className="row-title">⌄ {title}</div>;
  return (
    <PanelChrome
      width={width} height={height} title={title} description={panel.description} hoverHeader={!title}
      displayMode={panel.transparent ? "transparent" : "default"} statusMessage={failure}
    >
      {(innerWidth, innerHeight) => (
        <Contained>
          <div style={{ width: innerWidth, height: innerHeight }}>
            <Inside {...rest} panel={panel} failure={failure} replace={replace} width={innerWidth} height={innerHeight} />
          </div>
        </Contained>
      )}
    </PanelChrome>
  );
}

function Page({ board, panels, width, theme, variables, timeRange, children }) {
  const high = Math.max(...panels.map(({ px }) => px.top + px.height));
  const seen = board.templating.list.filter(({ hide }) => hide !== 2);
  const said = (value) => [value].flat().map((each) => (each === "$__all" ? "All" : each)).join(" + ");
  return (
    <div className="page" style={{ width }}>
      <nav style={{ width: menuPx(width), background: theme.colors.background.primary }}>{menuPx(width) ? "Grafana" : ""}</nav>
      <main style={{ background: theme.colors.background.canvas, color: theme.colors.text.primary }}>
        <header>
          <b>{board.title}</b>
          <span>{timeRange.from.format("YYYY-MM-DD HH:mm:ss")} to {timeRange.to.format("HH:mm:ss")}</span>
        </header>
        <header>
          {seen.map(({ name, label }) => <span key={name} className="variable"><i>{label || name}</i>{said(variables[name] ?? "")}</span>)}
          {(board.links ?? []).map(({ title }) => <span key={title} className="variable">{title}</span>)}
        </header>
        <div className="grid" style={{ width: gridPx(width), height: high }}>{children}</div>
      </main>
    </div>
  );
}

window.draw = async ({ board, width, mode, time, results, variables, annotations, oldTable }) => {
  const theme = createTheme({ colors: { mode } }), timeRange = rangeOf(time);
  document.body.style.background = theme.colors.background.canvas;
  await Promise.all([400, 500].map((weight) => document.fonts.load(`${weight} 14px Inter`)));
  const replace = replacer(variables, timeRange);
  const panels = await Promise.all(placed(board.panels, width).map(async (panel) => {
    try {
      return { ...panel, frames: await drawable(panel, results[panel.id] ?? [], { theme, replace, timeRange }) };
    } catch (error) {
      return { ...panel, frames: [], failure: String(error.stack) };
    }
  }));
  const context = { eventsScope: "global", eventBus: new EventBusSrv() };
  const marks = annotations.map((each) => ({ ...each, color: theme.visualization.getColorByName(each.color) }));
  root?.unmount();
  root = createRoot(document.getElementById("root"));
  root.render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <PortalContainer />
      <PanelContextProvider value={context}>
        <Page {...{ board, panels, width, theme, variables, timeRange }}>
          {panels.map((panel) => (
            <section key={panel.id} data-panel={panel.id} data-type={panel.type} style={{ ...panel.px, position: "absolute" }}>
              <Panel
                {...{ panel, theme, replace, timeRange, oldTable }} frames={panel.frames} annotations={marks}
                failure={panel.failure ?? results[panel.id]?.map(({ error }) => error).find(Boolean)}
              />
            </section>
          ))}
        </Page>
      </PanelContextProvider>
    </ThemeContext.Provider>
  );
};
window.problems = problems;
