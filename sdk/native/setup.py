"""The extension is optional: without a compiler the distribution is empty, and walltime runs in Python."""

import re
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).parent
SOURCES = [f"src/{part}.c" for part in ("module", "transaction", "callable", "bill", "encode")]


def version() -> str:
    """Return walltime's; a source distribution has it in PKG-INFO."""
    of_walltime = HERE.parent / "src" / "walltime" / "version.py"
    text = (of_walltime if of_walltime.exists() else HERE / "PKG-INFO").read_text()
    return str(re.findall(r'^(?:VERSION = "|Version: )([^"\n]+)', text, re.MULTILINE)[0])


setup(
    version=version(),
    ext_modules=[
        Extension(
            "walltime_native", SOURCES, depends=["src/core.h"], optional=True,
            extra_compile_args=["-O2", "-fvisibility=hidden"],
        )
    ],
)  # fmt: skip
