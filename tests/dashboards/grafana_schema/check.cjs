// Compares boards with the types of @grafana/schema of every supported Grafana, value by value: TypeScript reads the
// types, and this walks them. (The packages have no JSON schema; tsc itself would take no string for an enum.)
// stdin: [board]; stdout: [{grafana, board, panel, type, path, problem}]; a problem is "unknown" or says what is wrong.
const fs = require("node:fs");
const path = require("node:path");
const ts = require("typescript");

const MODULES = path.join(process.argv[2], "node_modules");
const GRAFANAS = Object.keys(require(path.join(process.argv[2], "package.json")).dependencies).filter((name) => name !== "typescript");
const found = [];

function all(folder, suffix) {
  return fs.readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((each) => each.name.endsWith(suffix)).map((each) => path.join(each.parentPath ?? each.path, each.name));
}

class Version {
  constructor(name) {
    this.name = name;
    this.folder = path.join(MODULES, name);
    const types = require(path.join(this.folder, "package.json")).types;
    this.root = path.join(this.folder, types);
    const panels = all(path.join(this.folder, "dist"), "PanelCfg_types.gen.d.ts");
    const options = {
      noEmit: true, strict: true, skipLibCheck: true, moduleResolution: ts.ModuleResolutionKind.Bundler,
      module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, baseUrl: MODULES,
      paths: { "@grafana/schema": [this.root] }, types: [],
    };
    this.program = ts.createProgram([this.root, ...panels], options);
    this.checker = this.program.getTypeChecker();
    this.kinds = new Map();
    for (const file of panels) {
      const kind = file.match(/composable\/(\w+)\/panelcfg/)?.[1];
      if (kind) this.kinds.set(kind, this.exported(file));
    }
    this.common = this.exported(this.root);
  }

  exported(file) {
    const source = this.program.getSourceFile(file);
    const symbol = this.checker.getSymbolAtLocation(source);
    return Object.fromEntries(this.checker.getExportsOfModule(symbol).map((each) => [each.name, each]));
  }

  type(symbol) {
    return this.checker.getDeclaredTypeOfSymbol(symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol);
  }

  // The problems of a value, [] if it is of the type; of a union those of the member that it fits best.
  problems(value, type, at) {
    const { checker } = this, F = ts.TypeFlags;
    if (type.flags & (F.Any | F.Unknown)) return [];
    if (value === null && at.endsWith(".value") && at.includes("steps[")) return []; // JSON of -Infinity, by Grafana itself
    if (type.isUnion()) {
      const nothing = value === undefined || value === null ? 0 : F.Undefined | F.Null;
      const each = type.types.filter(({ flags }) => !(flags & nothing)).map((member) => this.problems(value, member, at));
      return each.reduce((best, next) => (weight(next) < weight(best) ? next : best));
    }
    if (type.isIntersection() && typeof value !== "object") return type.types.flatMap((part) => this.problems(value, part, at));
    const wrong = [{ path: at, problem: `${JSON.stringify(value)?.slice(0, 60)} is not ${checker.typeToString(type)}` }];
    if (type.isLiteral()) return value === type.value ? [] : wrong;
    if (type.flags & F.BooleanLiteral) return String(value) === checker.typeToString(type) ? [] : wrong;
    if (type.flags & F.String) return typeof value === "string" ? [] : wrong;
    if (type.flags & F.Number) return typeof value === "number" ? [] : wrong;
    if (type.flags & F.Boolean) return typeof value === "boolean" ? [] : wrong;
    if (type.flags & F.Null) return value === null ? [] : wrong;
    if (type.flags & F.Undefined) return value === undefined ? [] : wrong;
    if (!(type.flags & (F.Object | F.Intersection))) return [];
    if (typeof value !== "object" || value === null) return wrong;
    if (checker.isArrayType(type)) {
      if (!Array.isArray(value)) return wrong;
      return value.flatMap((each, i) => this.problems(each, checker.getTypeArguments(type)[0], `${at}[${i}]`));
    }
    if (Array.isArray(value)) return wrong;
    return this.object(value, type, at);
  }

  object(value, type, at) {
    const index = type.getStringIndexType();
    const properties = new Map(this.checker.getPropertiesOfType(type).map((each) => [each.name, each]));
    const problems = [];
    for (const [name, each] of Object.entries(value)) {
      const property = properties.get(name), inside = `${at}.${name}`;
      if (property) problems.push(...this.problems(each, this.checker.getTypeOfSymbol(property), inside));
      else if (index) problems.push(...this.problems(each, index, inside));
      else problems.push({ path: inside, problem: "unknown" });
    }
    for (const [name, property] of properties) {
      if (!(name in value) && !(property.flags & ts.SymbolFlags.Optional)) problems.push({ path: `${at}.${name}`, problem: "missing" });
    }
    return problems;
  }
}

const weight = (problems) => problems.reduce((sum, { problem }) => sum + (problem === "unknown" ? 1 : 10), 0);

// Options and custom properties of a panel's kind; before Grafana 10 they have no types of their own but tables and graphs.
function typesOf(version, kind) {
  const { common } = version, cfg = version.kinds.get(kind);
  const early = { table: { FieldConfig: "TableFieldOptions" }, timeseries: { FieldConfig: "GraphFieldConfig" }, stat: { Options: "SingleStatBaseOptions" } };
  if (cfg) return { options: cfg.Options, custom: cfg.FieldConfig };
  const names = early[kind] ?? {};
  return { options: common[names.Options], custom: common[names.FieldConfig] };
}

function customs(fieldConfig) {
  const sets = [["fieldConfig.defaults.custom", fieldConfig.defaults?.custom ?? {}]];
  (fieldConfig.overrides ?? []).forEach(({ properties }, i) => {
    for (const { id, value } of properties) {
      if (!id.startsWith("custom.")) continue;
      const [name, ...rest] = id.slice("custom.".length).split(".");
      sets.push([`fieldConfig.overrides[${i}].custom`, { [name]: rest.reduceRight((inner, key) => ({ [key]: inner }), value) }]);
    }
  });
  return sets;
}

// Standard properties in overrides have the types of the defaults.
function standards(fieldConfig) {
  return (fieldConfig.overrides ?? []).map(({ properties }, i) => [
    `fieldConfig.overrides[${i}]`, Object.fromEntries(properties.filter(({ id }) => !id.startsWith("custom.")).map(({ id, value }) => [id, value])),
  ]);
}

function checkPanel(version, say, panel) {
  const { common } = version;
  const { options, fieldConfig, ...rest } = panel;
  const inner = panel.type === "row" ? "RowPanel" : "Panel";
  const bare = panel.type === "row" ? { ...rest, panels: [] } : { ...rest, options: {}, fieldConfig: { defaults: {}, overrides: [] } };
  if (common[inner]) say(panel, version.problems(bare, version.type(common[inner]), ""));
  if (panel.type === "row") return (panel.panels ?? []).forEach((each) => checkPanel(version, say, each));
  const types = typesOf(version, panel.type);
  const partly = (value, type, at) => version.problems(value, type, at).filter(({ problem, path: where }) => problem !== "missing" || where.slice(at.length + 1).includes("."));
  if (types.options) say(panel, partly(options ?? {}, version.type(types.options), "options"));
  if (types.custom) for (const [at, set] of customs(fieldConfig ?? {})) say(panel, partly(set, version.type(types.custom), at));
  if (!common.FieldConfig) return;
  const { custom, ...plain } = fieldConfig?.defaults ?? {};
  for (const [at, set] of [["fieldConfig.defaults", plain], ...standards(fieldConfig ?? {})]) {
    say(panel, partly(set, version.type(common.FieldConfig), at));
  }
}

function checkBoard(version, board) {
  const say = (panel, problems) =>
    found.push(...problems.map((each) => ({
      grafana: version.name, board: board.uid, panel: panel ? panel.title || `panel ${panel.id}` : "", type: panel?.type ?? "board", ...each,
    })));
  const { panels, ...rest } = board;
  say(null, version.problems({ ...rest, panels: [] }, version.type(version.common.Dashboard), ""));
  for (const panel of panels) checkPanel(version, say, panel);
}

let input = "";
process.stdin.on("data", (part) => (input += part));
process.stdin.on("end", () => {
  const boards = JSON.parse(input);
  const checked = {};
  for (const name of GRAFANAS) {
    const version = new Version(name);
    checked[name] = { kinds: [...version.kinds.keys()], common: ["Dashboard", "Panel", "FieldConfig"].filter((each) => version.common[each]) };
    for (const board of boards) checkBoard(version, board);
  }
  process.stdout.write(JSON.stringify({ checked, found }));
});
