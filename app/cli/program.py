"""The program: its commands, its version and its help."""

import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from app import VERSION
from app.cli.commands.allocate import allocate
from app.cli.commands.audit import audit
from app.cli.commands.backup import backup, restore
from app.cli.commands.calibrate import calibrate
from app.cli.commands.compare import compare
from app.cli.commands.config import config
from app.cli.commands.delete import delete
from app.cli.commands.demo import demo
from app.cli.commands.dlc import dlc
from app.cli.commands.example import example
from app.cli.commands.export import export
from app.cli.commands.imports import import_
from app.cli.commands.keys import keys
from app.cli.commands.mix import mix
from app.cli.commands.open import open_
from app.cli.commands.parameter_server import parameter_server
from app.cli.commands.placements import placements
from app.cli.commands.plan import plan
from app.cli.commands.predict import predict
from app.cli.commands.runs import run_
from app.cli.commands.serve import serve
from app.cli.commands.shape import shape
from app.cli.commands.simulate import simulate
from app.cli.commands.sizes import sizes
from app.cli.commands.sweep import sweep
from app.cli.extras import check_extra, missing_extra

#: The commands in the order of the help; add one here.
COMMANDS: dict[str, Callable[..., None]] = {
    "serve": serve,
    "plan": plan,
    "compare": compare,
    "simulate": simulate,
    "predict": predict,
    "sweep": sweep,
    "parameter-server": parameter_server,
    "placements": placements,
    "shape": shape,
    "mix": mix,
    "allocate": allocate,
    "import": import_,
    "export": export,
    "calibrate": calibrate,
    "dlc": dlc,
    "sizes": sizes,
    "run": run_,
    "open": open_,
    "delete": delete,
    "audit": audit,
    "backup": backup,
    "restore": restore,
    "example": example,
    "demo": demo,
}

#: What has a process of its own import the service.
_OF_PROCESSES = ("demo",)


class _Flags:
    """Lets flags that are not set be false: typer has pydantic look at None, which takes time."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters of a command."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.default is None and getattr(param, "is_bool_flag", False):
                param.default = False
        return params


class _CommandGroup(_Flags, TyperGroup):
    """The program, or a command that has commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for; say which extra it takes if that is missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            names = (*ctx.command_path.split()[1:], ctx.invoked_subcommand or "")
            failure = missing_extra(" ".join(filter(None, names)), error)
            if failure is None:
                raise
            raise failure from None


class _Command(_Flags, TyperCommand):
    """A command."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        if ctx.info_name in _OF_PROCESSES:
            check_extra(ctx.info_name, "service")
        return super().invoke(ctx)


def _show_version(value: bool) -> None:
    if value:
        print(f"interlace {VERSION}")
        raise typer.Exit


def interlace(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Plan and simulate the communication of distributed training: buckets, order, time, bound.

    \b
    Examples:
      interlace demo
      interlace serve --port 8000
      interlace plan graph.json --workers 16
      interlace simulate graph.json --policy ddp
    """  # noqa: D301 - \b keeps the lines apart
    if context.invoked_subcommand is None:
        print(context.get_help())


def _program(names: Iterable[str]) -> typer.Typer:
    """Make the program with some commands: typer looks at the flags of all that there are."""
    program = typer.Typer(
        cls=_CommandGroup,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    program.callback()(interlace)
    for name in names:
        program.command(name, cls=_Command)(COMMANDS[name])
    return program


app = _program(COMMANDS)
app.add_typer(config, name="config", cls=_CommandGroup)
app.add_typer(keys, name="keys", cls=_CommandGroup)


def run() -> int:
    """Run the command of the arguments; return its exit code."""
    asked = sys.argv[1:2]
    program = _program(asked) if COMMANDS.keys() & asked else app
    return program(prog_name="interlace", standalone_mode=False) or 0
