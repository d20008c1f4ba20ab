"""The page that draws a board: Grafana's packages from npm, bundled again when web/ changes."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.dashboards.npm import CACHE, digest, installed, run

WEB = Path(__file__).with_name("web")
FONTS = {
    **{f"inter/Inter-{cut}.woff2": f"inter-ui/web/Inter-{cut}.woff2" for cut in ("Regular", "Medium", "Italic")},
    "roboto/": "@fontsource/roboto-mono/files/roboto-mono-latin-400-normal.woff2",
}
"""Part of the address that Grafana's styles ask for → the file in node_modules."""
_OPTIONS = (
    *("--bundle", "--minify", "--keep-names", "--log-level=error", "--loader:.js=jsx", "--loader:.ttf=empty"),
    '--define:process.env.NODE_ENV="production"',
    f"--alias:monaco-editor={WEB / 'nothing.js'}",  # the editor of queries: three quarters of the whole
    f"--alias:react-custom-scrollbars-2={WEB / 'scrollbars.js'}",
)


def modules() -> Path:
    """The node_modules of web/package.json: 620 MB, two minutes the first time."""
    return installed(WEB / "package.json") / "node_modules"


def bundled() -> Path:
    """
    The folder with board.js, board.css and index.html.

    Raises:
        NoNodeError: There is no npm.
    """
    packages, sources = modules(), sorted(WEB.iterdir())
    folder = CACHE / f"page-{digest([Path(__file__), *sources])}"
    if not (folder / "index.html").exists():
        folder.mkdir(parents=True, exist_ok=True)
        esbuild = str(packages / ".bin" / "esbuild")
        packed = f"--alias:scrollbars-as-packed={packages / 'react-custom-scrollbars-2' / 'lib' / 'index.js'}"
        command = [esbuild, str(WEB / "board.jsx"), f"--outfile={folder / 'board.js'}", *_OPTIONS, packed]
        run(command, folder, NODE_PATH=str(packages))
        shutil.copy(WEB / "index.html", folder)
    return folder
