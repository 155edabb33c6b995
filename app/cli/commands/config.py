"""See how the service is set up."""

import json

import typer

from app.cli.options import AsJson

config = typer.Typer(help="See how the service is set up.", invoke_without_command=True)


@config.callback()
def _config(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@config.command("show")
def show(json_: AsJson = False) -> None:
    """Print every setting with its value, source and meaning.

    \b
    Example:
      interlace config show
    """
    import os

    from app.cli.environment import settings
    from app.cli.failures import complain
    from app.operations.settings import described, unknown_variables

    for sentence in unknown_variables(os.environ):
        complain(sentence)
    listed = described(settings())
    if json_:
        print(json.dumps(listed, indent=1))
        return
    for setting in listed:
        value = "-" if setting["value"] is None else setting["value"]
        print(f"{setting['variable']} = {value}  ({setting['source']})\n    {setting['meaning']}")
