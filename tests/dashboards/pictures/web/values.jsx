// Tables and tiles, by @grafana/ui, given the options of their panels.
import React from "react";
import { getDisplayValueAlignmentFactors, getFieldDisplayValues, VizOrientation } from "@grafana/data";
import { BigValue, Table, VizRepeater } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";
import { configured } from "./fields.js";

export function Rows({ panel, frames, width, height, timeRange, oldTable }) {
  const { options } = panel;
  const frame = frames[options.frameIndex ?? 0] ?? frames[0];
  if (!frame?.fields.length) return <div className="no-data">No data</div>;
  const Kind = oldTable ? Table : TableNG;
  return (
    <Kind
      data={frame} width={width} height={height} noHeader={!(options.showHeader ?? true)} showTypeIcons={options.showTypeIcons}
      resizable initialSortBy={options.sortBy} cellHeight={options.cellHeight ?? "sm"} timeRange={timeRange} structureRev={1}
      enablePagination={options.footer?.enablePagination ?? options.enablePagination} fieldConfig={configured(panel)}
      footerOptions={options.footer} getActions={() => []} transparent={panel.transparent}
    />
  );
}

export function Tiles({ panel, frames, width, height, timeRange, theme, replace }) {
  const { options } = panel;
  const reduceOptions = { calcs: ["lastNotNull"], values: false, ...options.reduceOptions };
  const graphMode = options.graphMode ?? "area";
  const values = () =>
    getFieldDisplayValues({
      fieldConfig: configured(panel), reduceOptions, replaceVariables: replace, theme, data: frames,
      sparkline: graphMode !== "none", percentChange: options.showPercentChange, timeZone: "browser",
    }).map((value) => ({ ...value, sparkline: value.sparkline && { ...value.sparkline, timeRange } }));
  const auto = width > height ? VizOrientation.Vertical : VizOrientation.Horizontal;
  return (
    <VizRepeater
      getValues={values} getAlignmentFactors={getDisplayValueAlignmentFactors} width={width} height={height} source={frames}
      itemSpacing={3} renderCounter={0} autoGrid orientation={options.orientation === "auto" ? auto : options.orientation ?? auto}
      renderValue={({ value, width, height, count, alignmentFactors }) => (
        <BigValue
          value={value.display} sparkline={value.sparkline} colorMode={options.colorMode ?? "value"} graphMode={graphMode}
          justifyMode={options.justifyMode ?? "auto"} textMode={options.textMode ?? "auto"} text={options.text}
          percentChangeColorMode={options.percentChangeColorMode} disableWideLayout={!(options.wideLayout ?? true)}
          {...{ width, height, count, alignmentFactors, theme }} hasLinks={value.hasLinks}
        />
      )}
    />
  );
}
