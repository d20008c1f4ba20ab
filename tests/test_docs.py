"""The documentation is true: every setting is in its table with its default, every example of the README runs."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from pathlib import Path

import pytest
import walltime
from walltime.settings import Settings
from walltime_collector.config.settings import Settings as CollectorSettings

ROOT = Path(__file__).parents[1]
DOCUMENTED = (ROOT / "docs" / "settings.md").read_text()
README = (ROOT / "README.md").read_text()


def row(setting: str) -> str:
    found = [line for line in DOCUMENTED.splitlines() if line.startswith(f"| `{setting}` |")]
    assert len(found) == 1, f"docs/settings.md should have one row for {setting}"
    return found[0]


def shown(default: object) -> str:
    if isinstance(default, tuple):
        return ", ".join(f"`{each}`" for each in default) or "none"
    if isinstance(default, float):
        return f"{default:g}"
    return str(default) if isinstance(default, (bool, int)) else f"`{default}`" if default else "none"


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda each: str(each.name))
def test_every_setting_of_the_sdk_is_documented_as_it_is_declared(setting: Field[object]) -> None:
    variables = ", ".join(f"`{variable}`" for variable in setting.metadata["variables"])
    default = shown(getattr(Settings(), setting.name))
    assert row(setting.name) == f"| `{setting.name}` | {variables} | {default} | {setting.metadata['doc']} |"


def test_every_safe_value_is_documented() -> None:
    """In the list of what a setting is when its variable cannot be used."""
    listed = DOCUMENTED.partition("show more of it:\n")[2].partition("`walltime.Settings.from_env()`")[0]
    safe = {}
    for part in re.split(r"\n- |; (?=`)", listed):
        names, _, value = part.partition(":")
        safe.update(dict.fromkeys(re.findall(r"`(\w+)`", names), value))
    declared = {each.name: each.metadata["safe"] for each in fields(Settings) if "safe" in each.metadata}
    assert declared.keys() == safe.keys() - {"certificate", "OTEL_PROPAGATORS"}
    for name, value in declared.items():
        says = str(value) if isinstance(value, bool) else f"`{''.join(value)}`" if value else "none"
        assert says in safe[name], name


def test_what_is_documented_of_the_sdk_is_there() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", DOCUMENTED.partition("## Collector")[0], re.MULTILINE)
    assert documented == [each.name for each in fields(Settings)]


@pytest.mark.parametrize("setting", [name for name in CollectorSettings.model_fields if name != "crashpoint"])
def test_every_setting_of_the_collector_is_documented(setting: str) -> None:
    field = CollectorSettings.model_fields[setting]
    assert f"`WALLTIME_{setting.upper()}`" in row(setting)
    assert field.description is not None
    assert field.description in row(setting)
    if isinstance(field.default, (int, float)):
        assert row(setting).split("|")[3].strip() == str(field.default)


def test_the_readmes_python_runs() -> None:
    class Template:
        def render(self, product: object) -> str:
            return str(product)

    names: dict[str, object] = {
        "app": lambda environ, start_response: [],
        "template": Template(),
        "product": 1,
        "run_import": lambda: None,
    }
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)  # noqa: S102  # our own text
    assert isinstance(names["app"], walltime.WSGIMiddleware)
    walltime.uninstrument()
    walltime.shutdown()


def test_the_readmes_commands_and_files_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make ([a-z-]+)", README)):
        assert f"\n{target}:" in makefile, f"make {target}"
    for path in set(re.findall(r"`((?:docs|sdk|collector|dashboards|examples|tests)/[\w./-]*)`", README)):
        assert (ROOT / path).exists(), path
