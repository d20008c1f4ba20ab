// A default export as webpack reads it; esbuild gives a module of the kind .mjs the whole exports object instead.
import * as all from "scrollbars-as-packed";
export default all.Scrollbars;
