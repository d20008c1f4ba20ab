"""The command `walltime`: its commands and options, and one sentence for what goes wrong."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

import click

from ..errors import CollectorError, UsageError
from ..format import printable
from .options import global_options
from .output import write

COMMANDS: Final = {
    "serve": "serve:serve",
    "demo": "demo.command:demo",
    "incidents": "incidents.command:incidents",
    "mcp": "mcp:mcp",
    "top": "questions:top",
    "show": "questions:show",
    "why": "questions:why",
    "diff": "diff.command:diff",
    "find": "find.command:find",
    "digest": "digest.command:digest",
    "profile": "profile.command:profile",
    "advise": "advise.command:advise",
    "sql": "questions:sql",
    "status": "questions:status",
    "doctor": "doctor.command:doctor",
    "slowlog": "slowlog.command:slow_logs",
    "dead-letter": "dead_letters:dead_letters",
}
"""The module and the name of each command, in the order of the help."""
_EARLIER_NAMES: Final = {"deadletter": "dead-letter"}
"""Until 0.1; not in the help."""


class _Commands(click.Group):
    """Imports a command when it is named: what the others import takes longer than a short command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _EARLIER_NAMES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(f".{module}", __name__), attribute)
        return command


def main() -> None:
    """Run the command line; the exit codes are in the help of `app`."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # without UTF-8: "?" and no traceback
    try:
        code = app(standalone_mode=False, prog_name="walltime")
    except click.ClickException as error:
        code = _complain(error.format_message(), error.exit_code)
    except CollectorError as error:
        code = _complain(str(error), 2 if isinstance(error, UsageError) else 1)
    except (KeyboardInterrupt, click.Abort):
        code = 130
    raise SystemExit(code)


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"walltime: {printable(message)}\n")
    return code


@click.group(
    cls=_Commands,
    commands=dict.fromkeys(COMMANDS),  # of them only the names: for "Did you mean …?"
    invoke_without_command=True,
    context_settings={"show_default": True},
)
@click.version_option(package_name="walltime-collector", message="walltime %(version)s", help="Print the version.")
@global_options
@click.pass_context
def app(context: click.Context, /, **options: Any) -> None:
    """
    Where did the wall time of this request go, and why?

    The options --url, --json, --token-file and --client-certificate can stand before or after the command.

    \b
    Exit codes:
      0    success
      1    the command failed, doctor found a failure, or diff a kind that --fail-if-slower refuses
      2    wrong usage: an option, a parameter or a statement is invalid
      130  interrupted by Ctrl-C

    \b
    Completion in bash; docs/commands.md has zsh, fish and PowerShell:
      eval "$(_WALLTIME_COMPLETE=bash_source walltime)"
    """
    context.obj = options
    if context.invoked_subcommand is None:
        write(f"{context.get_help()}\n")
