"""The command `walltime`: its commands and options, and one sentence for what goes wrong."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from ..errors import CollectorError, UsageError
from ..format import printable
from .options import ClientCertificate, Json, TokenFile, Url
from .output import write

if TYPE_CHECKING:
    from typer._click import Command

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
    "deadletter": "dead_letters:dead_letters",
}
"""The module and the name of each command, in the order of the help."""
_EARLIER_NAMES: Final = {"deadletter"}
"""Until 0.1; not in the help."""
_PLAIN: Final[dict[str, Any]] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}


class _Commands(TyperGroup):
    """Imports a command when it is named: what the others import takes longer than a short command."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Command | None:  # type: ignore[override]
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:  # all: "Did you mean …?"
            if name not in self.commands:
                self.commands[name] = _command(name)
        return self.commands.get(cmd_name)


def _command(name: str) -> Command:
    module, _, attribute = COMMANDS[name].partition(":")
    command = getattr(import_module(f".{module}", __name__), attribute)
    if isinstance(command, typer.Typer):
        group = typer.main.get_group(command)
        group.hidden = name in _EARLIER_NAMES
        return group
    alone = typer.Typer(add_completion=False, **_PLAIN)
    alone.command(name)(command)
    return typer.main.get_command(alone)


app = typer.Typer(cls=_Commands, invoke_without_command=True, **_PLAIN)


def main() -> None:
    """Run the command line; the exit codes are those of `before_the_command`."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # without UTF-8: "?" and no traceback
    try:
        code = app(standalone_mode=False, prog_name="walltime")
    except typer.TyperException as error:
        code = _complain(error.format_message(), error.exit_code)
    except CollectorError as error:
        code = _complain(str(error), 2 if isinstance(error, UsageError) else 1)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    raise SystemExit(code)


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"walltime: {printable(message)}\n")
    return code


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        write(f"walltime {version('walltime-collector')}\n")
        raise typer.Exit


@app.callback()
def before_the_command(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
    url: Url = None,
    as_json: Json = False,
    token_file: TokenFile = None,
    client_certificate: ClientCertificate = None,
) -> None:
    """
    Where did the wall time of this request go, and why?

    The options --url, --json, --token-file and --client-certificate can stand before or after the command.

    \b
    Exit codes:
      0    success
      1    the command failed, doctor found a failure, or diff a kind that --fail-if-slower refuses
      2    wrong usage: an option, a parameter or a statement is invalid
      130  interrupted by Ctrl-C

    Shell completion: walltime --install-completion (bash, zsh, fish or PowerShell), then open a new shell.
    """
    context.obj = dict(url=url, as_json=as_json, token_file=token_file, client_certificate=client_certificate)  # noqa: C408
    if context.invoked_subcommand is None:
        write(context.get_help() + "\n")
