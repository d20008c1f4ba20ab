"""Refuses options that are wrong, or that have no effect beside what else is on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from click.core import ParameterSource

from ..errors import BadParameter
from ..format import since_s


def is_given(name: str) -> bool:
    """Whether a parameter is on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_beside(option: str, *unused: str) -> None:
    """Refuse parameters that are on the command line and that mean nothing beside another option or argument."""
    _refuse(unused, f"it has no effect beside {option}; leave out one")


def refuse_without(option: str, *unused: str) -> None:
    """The same for those that mean nothing without another option."""
    _refuse(unused, f"it has no effect without {option}")


def _refuse(unused: tuple[str, ...], why: str) -> None:
    for each in click.get_current_context().command.params:
        if each.name in unused and is_given(each.name):
            raise click.BadParameter(why, param_hint=max(each.opts, key=len))


def check_since(since: str, option: str = "--since") -> None:
    """Refuse an option that is no length of time."""
    try:
        since_s(since)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


@contextmanager
def checked_options() -> Iterator[None]:
    """Refuse the option that a BadParameter inside the block is about."""
    try:
        yield
    except BadParameter as error:
        option = f"--{error.where.replace('_', '-')}"
        raise click.BadParameter(f"{error.what}; {error.what_now}", param_hint=option) from error
