"""
Pictures of the boards: Grafana's own packages, in Chromium, draw what a collector answers to their queries.

Grafana's own code, of `@grafana/ui`, `data` and `schema` 12: time series with axes, legends, stacks and thresholds;
tables with their cells, those up to Grafana 11 and those since; tiles; frames and titles of panels; Markdown; units,
colours, links, overrides, transformations; how far apart points are; themes and styles. The font is Inter.

Imitated, because it is in Grafana's application and in no package: the page around the grid, rows, the marks of
annotations, heat maps, bar charts, traces, the transformation extractFields, what a panel's plugin adds to its JSON,
and what the plugin of ClickHouse makes of an answer (frames.py). Nothing here hovers or clicks.
"""
