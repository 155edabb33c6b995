"""Print a request ready to plan."""

from typing import Annotated

import typer


def example(
    name: Annotated[str | None, typer.Argument(help="Its name; none lists all.")] = None,
) -> None:
    """Print a request ready to plan, or the names of all.

    \b
    Examples:
      interlace example
      interlace example fsdp_llama_7b | interlace plan -
    """
    from app.errors import NotFound
    from app.services import examples
    from solver.wording import meant

    listed = examples.names().examples
    if name is None:
        width = max(len(each.name) for each in listed)
        print("\n".join(f"{each.name:{width}}  {each.description}" for each in listed))
        return
    try:
        print(examples.example(name).model_dump_json(exclude_unset=True))
    except NotFound:
        known = ", ".join(each.name for each in listed)
        near = meant(name, (each.name for each in listed))
        detail = f"no example is called {name!r}; there are {known}.{near}"
        raise typer.BadParameter(detail) from None
