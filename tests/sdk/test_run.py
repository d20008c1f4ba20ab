"""walltime-run: a program is instrumented in whatever way it is started, once, and runs as it would without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import walltime
import walltime_run
from walltime.instrumentation import libraries
from walltime.instrumentor import WalltimeInstrumentor

from tests.sdk.run_program import BIN, PROGRAMS, RUN, environment
from tests.sdk.sink import Sink

PYTHON = sys.executable

WAYS: dict[str, tuple[list[str], int]] = {
    "a script of this Python": ([RUN, PYTHON, "once.py"], 1),
    "a script alone": ([RUN, "once.py"], 1),
    "a module": ([RUN, PYTHON, "-m", "once"], 1),
    "a module alone": ([RUN, "-m", "once"], 1),
    "a line of code": ([RUN, "--", "-c", "import once"], 1),
    "python -m walltime": ([PYTHON, "-m", "walltime", "python", "once.py"], 1),
    "nested": ([RUN, RUN, PYTHON, "-m", "walltime", "once.py"], 1),
    "exec'd by a shell": ([RUN, "sh", "-c", f"exec {PYTHON} once.py"], 1),
    "spawned processes": ([RUN, "spawning.py"], 2),
    "instrumented in code as well": ([RUN, "knowing.py"], 1),
    "opentelemetry-instrument": ([str(BIN / "opentelemetry-instrument"), PYTHON, "once.py"], 1),
    "around ddtrace-run": ([RUN, "ddtrace-run", PYTHON, "once.py"], 1),
    "inside ddtrace-run": ([str(BIN / "ddtrace-run"), RUN, PYTHON, "once.py"], 1),
    "not at all": ([PYTHON, "once.py"], 0),
}


def transactions(ways: list[str]) -> Counter[str]:
    """Way → transactions that arrived. All ways run at once: most of their time is starting Python."""
    with Sink() as sink:
        processes = {
            way: subprocess.Popen(
                WAYS[way][0],
                cwd=PROGRAMS,
                env=environment(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=sink.endpoint, OTEL_SERVICE_NAME=way),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for way in ways
        }
        for way, process in processes.items():
            output, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, ""), f"{way}: {errors}"
            assert set(output.split()) == {"ran"}
        return Counter(span.resource["service.name"] for span in sink.transactions())


QUICK = ["a module", "nested", "spawned processes", "instrumented in code as well", "opentelemetry-instrument"]


@pytest.mark.parametrize(
    "ways",
    [QUICK, pytest.param([way for way in WAYS if way not in QUICK], marks=pytest.mark.nightly)],
    ids=["quick", "the rest"],
)
def test_one_request_is_one_transaction_however_the_program_is_started(ways: list[str]) -> None:
    assert transactions(ways) == Counter({way: WAYS[way][1] for way in ways})


def python(code: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RUN, PYTHON, "-c", code], env=environment(**more), capture_output=True, text=True, timeout=60, check=False
    )


IS_INSTRUMENTED = "import sys, threading; print(threading.Thread.start.__code__.co_filename != threading.__file__)"


def test_the_users_own_sitecustomize_comes_first(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; assert 'walltime' not in sys.modules; sys.own = 1")
    found = python(
        f"{IS_INSTRUMENTED}; import sitecustomize; print(sys.own, sitecustomize.__file__)", PYTHONPATH=str(tmp_path)
    )
    assert found.stdout.split() == ["True", "1", str(tmp_path / "sitecustomize.py")], found


def test_what_the_users_sitecustomize_raises_is_reported_by_python_and_nothing_else_changes(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('theirs')")
    found = python(IS_INSTRUMENTED, PYTHONPATH=str(tmp_path))
    assert found.stdout == "True\n"
    assert "Error in sitecustomize" in found.stderr
    assert "ValueError: theirs" in found.stderr


def test_the_programs_path_is_as_it_was_and_its_children_inherit_ours_once(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.path[1:]); print(os.environ.get('PYTHONPATH'))"
    with_us = python(code, PYTHONPATH=str(tmp_path)).stdout.splitlines()
    without = subprocess.run(
        [PYTHON, "-c", code], env=environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert with_us[0] == without[0]
    assert with_us[1] == os.pathsep.join([walltime_run.BOOTSTRAP, str(tmp_path)])
    assert walltime_run.with_bootstrap(walltime_run.with_bootstrap("")) == walltime_run.BOOTSTRAP


def test_a_python_that_has_no_walltime_runs_as_ever() -> None:
    other = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    if sys.prefix == sys.base_prefix or not other.exists():
        pytest.skip("this Python is no virtual environment")
    found = subprocess.run(
        [RUN, str(other), "-c", "import sys; print('walltime' in sys.modules)"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "False\n", "")


def test_a_failure_of_ours_is_one_line_and_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise RuntimeError('broken')")
    found = python("print('runs')", PYTHONPATH=str(tmp_path))
    assert (found.returncode, found.stdout) == (0, "runs\n")
    assert found.stderr == "walltime: this program runs without it: broken\n"


def test_a_setting_that_cannot_be_used_stops_nobody() -> None:
    found = python("import once", OTEL_TRACES_SAMPLER_ARG="much", PYTHONPATH=str(PROGRAMS))
    assert (found.returncode, found.stdout) == (0, "ran\n")
    assert "OTEL_TRACES_SAMPLER_ARG" in found.stderr


def test_switched_off_nothing_is_touched() -> None:
    assert python(IS_INSTRUMENTED).stdout == "True\n"
    assert python(IS_INSTRUMENTED, OTEL_SDK_DISABLED="true").stdout == "False\n"


def test_no_library_is_imported_for_the_program() -> None:
    known = sorted({module.partition(".")[0] for _, module in libraries.PARTS.values()})
    found = python(f"import sys; print([name for name in {known} if name in sys.modules])")
    assert set(eval(found.stdout)) <= {"concurrent", "http", "opentelemetry", "sys", "threading", "wsgiref"}  # noqa: S307  # our own list


def test_exit_states_are_those_of_the_program_or_of_a_shell(tmp_path: Path) -> None:
    assert python("import sys; sys.exit(7)").returncode == 7
    unknown = subprocess.run([RUN, "no-such-program"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, "no-such-program" in unknown.stderr) == (127, True)
    script = tmp_path / "broken"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert subprocess.run([RUN, str(script)], capture_output=True, check=False).returncode == 126
    assert subprocess.run([RUN], capture_output=True, check=False).returncode == 2
    shown = subprocess.run([RUN, "--help"], capture_output=True, text=True, check=True).stdout
    assert "walltime-run gunicorn" in shown
    version = subprocess.run([RUN, "--version"], capture_output=True, text=True, check=True).stdout
    assert version == f"walltime {walltime.__version__}\n"


def test_opentelemetry_finds_the_instrumentor_by_its_entry_point_and_can_undo_it() -> None:
    (found,) = entry_points(group="opentelemetry_instrumentor", name="walltime")
    instrumentor = found.load()()
    assert isinstance(instrumentor, WalltimeInstrumentor)
    assert not libraries._chosen
    instrumentor.instrument(skip_dep_check=True)
    assert instrumentor.is_instrumented_by_opentelemetry
    assert libraries._chosen
    instrumentor.uninstrument()
    assert not instrumentor.is_instrumented_by_opentelemetry
    assert not libraries._chosen


def test_the_instrumentor_has_the_methods_of_opentelemetrys() -> None:
    base = pytest.importorskip("opentelemetry.instrumentation.instrumentor").BaseInstrumentor
    public = {name for name in vars(base) if not name.startswith("_")}
    assert public <= set(dir(WalltimeInstrumentor))
    assert list(WalltimeInstrumentor().instrumentation_dependencies()) == []
