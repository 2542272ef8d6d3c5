"""A group of commands that imports a command only when it is run."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from pgq_ops.cli.ending import BROKEN_PIPE


class Entry(NamedTuple):
    """One command: its name, the "module:attribute" of its function or Typer app, its line in the list."""

    name: str
    place: str
    summary: str

    def load(self) -> Any:  # noqa: ANN401 (typer's class of commands has another home in each version)
        """Import the command."""
        module, _, attribute = self.place.partition(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            function, found = found, subcommands()
            found.command(self.name)(function)
        command = get_command(found)
        command.name = self.name
        _hide_types(command)
        return command


def _hide_types(command: Any) -> None:  # noqa: ANN401 (as in Entry.load)
    """Of arguments Typer would show the type that Python has, such as list[str], beside the name."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type
    for subcommand in getattr(command, "commands", {}).values():
        _hide_types(subcommand)


def _no_type(ctx: Any) -> None:  # noqa: ANN401 (as in Entry.load)
    """What an argument shows of its type."""


class Group(TyperGroup):
    """A group whose own options need no conversion: Typer would import pydantic for that, before any `--help`."""

    def get_help_option(self, ctx: Any) -> Any:  # noqa: ANN401 (as in Entry.load)
        """The option `--help`, which is off and not unset where it is not given."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


def subcommands(summary: str | None = None) -> typer.Typer:
    """A Typer app set up as all of ours are."""
    return typer.Typer(
        cls=Group,
        help=summary,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )


class LazyGroup(Group):
    """Lists `entries` without importing them. A reader that goes away ends the command quietly."""

    entries: ClassVar[tuple[Entry, ...]] = ()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 (as in Entry.load)
        """The commands' names, in the order of `entries`."""
        return [entry.name for entry in self.entries]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 (as in Entry.load)
        """Import a command; a name that is not there ends the program with a suggestion."""
        for entry in self.entries:
            if entry.name == cmd_name:
                return entry.load()
        guess = get_close_matches(cmd_name, self.list_commands(ctx), n=1)
        hint = f" Did you mean '{guess[0]}'?" if guess else ""
        return ctx.fail(f"No such command '{cmd_name}'.{hint}")

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 (as in Entry.load)
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.summary) for entry in self.entries])

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 (as in Entry.load)
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(BROKEN_PIPE) from None
