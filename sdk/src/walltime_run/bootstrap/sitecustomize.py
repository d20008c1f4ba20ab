"""
Python imports this when it starts, because `walltime-run` has put its folder on PYTHONPATH, before the program.

The `sitecustomize` that Python would have imported without us comes first, then Walltime. Every Python below the
program comes here, also one that is too old for Walltime or has none: it runs as if we were not there.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # no import that is not there already


def chain() -> None:
    """Import the sitecustomize behind us; what it raises is for Python to report, as ever."""
    ours = sys.modules.pop("sitecustomize")
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != HERE]  # noqa: PTH100
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


def instrument() -> None:
    try:
        from walltime import instrumentor

        instrumentor.instrument()
    except ImportError as error:
        if getattr(error, "name", None) != "walltime":  # else it is not installed in this Python
            say(error)
    except Exception as error:  # noqa: BLE001  # a program does not stop because of us
        say(error)


def say(error: Exception) -> None:
    sys.stderr.write("walltime: this program runs without it: " + str(error) + "\n")


try:
    chain()
finally:
    instrument()
