"""Commands that other packages add to `fleet`: the entry points of the group `fleet.commands`.

An entry point names a click command, `sim = "package.module:command"`. Its package is imported when the command is
used, not before: a list of the commands needs none of them, and one that is broken harms nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shards.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "fleet.commands"


class PluginGroup(click.Group):
    """A group that has the commands of other packages beside its own, which come first where names are equal."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *(point.name for point in _entry_points())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = self.commands.get(cmd_name)
        return own if own is not None else _load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, but that the commands of other packages are named and not imported."""
        longest = max(map(len, self.list_commands(ctx)), default=0)
        limit = formatter.width - 6 - longest
        rows = [(name, own.get_short_help_str(limit)) for name, own in self.commands.items() if not own.hidden]
        rows += [(point.name, _origin(point)) for point in _entry_points() if point.name not in self.commands]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(sorted(rows))


def _load(name: str) -> click.Command | None:
    """The command of that name. Raises ConfigError where it cannot be had."""
    found = [point for point in _entry_points() if point.name == name]
    if not found:
        return None
    if len(found) > 1:
        packages = " and ".join(sorted(_package(point) for point in found))
        raise ConfigError(f"the command {name}", f"{packages} both add it; uninstall one of them")
    try:
        loaded = found[0].load()
    except Exception as error:  # whatever an import of foreign code raises
        why = f"cannot be imported ({type(error).__name__}: {error}); is the package installed as it should be?"
        raise ConfigError(f"the command {name}", f"{_about(found[0])} {why}") from error
    if not isinstance(loaded, click.Command):
        raise ConfigError(
            f"the command {name}", f"{_about(found[0])} is of type {type(loaded).__name__}, not click.Command"
        )
    return loaded


def _entry_points() -> list[EntryPoint]:
    """In order of names and packages, each once."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point)))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


def _origin(point: EntryPoint) -> str:
    return f"Comes with {_package(point)} ({point.module.partition('.')[0]})."


def _about(point: EntryPoint) -> str:
    return f"{point.value}, from the package {_package(point)},"
