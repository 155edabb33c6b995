"""Make, list, revoke and rotate API keys."""

from typing import Annotated

import typer

from app.cli.options import AsJson

keys = typer.Typer(
    help="Make, list, revoke and rotate API keys.",
    invoke_without_command=True,
)

KeyId = Annotated[str, typer.Argument(metavar="ID", help="Its id, as 'keys list' shows it.")]

ExpiresDays = Annotated[
    float | None,
    typer.Option(min=0, max=36_500, help="The key ends so many days from now.  [default: never]"),
]


@keys.callback()
def _keys(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@keys.command("make")
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    owner: Annotated[
        str, typer.Option(help="Who has it: jobs, graphs, models and runs made with it are theirs.")
    ],
    team: Annotated[
        str | None, typer.Option(help="Keys of one team share what they make.  [default: none]")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="read|submit|admin",
            help="What it is good for; submit reads too, and admin sees what all own. May be "
            "repeated.  [default: submit]",
        ),
    ] = None,
    expires_days: ExpiresDays = None,
    max_requests_per_s: Annotated[
        float | None,
        typer.Option(
            min=1e-3, help="Requests a second.  [default: as INTERLACE_QUOTA_REQUESTS_PER_S]"
        ),
    ] = None,
    max_queued: Annotated[
        int | None,
        typer.Option(min=1, help="Jobs that may wait.  [default: INTERLACE_QUOTA_QUEUED]"),
    ] = None,
    max_stored_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="Bytes stored.  [default: INTERLACE_QUOTA_STORED_BYTES]"),
    ] = None,
    max_solving_s: Annotated[
        float | None,
        typer.Option(
            min=1e-3, help="Seconds of solving a day.  [default: INTERLACE_QUOTA_SOLVING_S]"
        ),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=100,
            help="What its jobs and calls get of the machine beside others'.  [default: 1]",
        ),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Make a key and print it: it can be read nowhere again.

    \b
    Examples:
      interlace keys make "training launcher" --owner alice --team vision
      interlace keys make prometheus --owner monitoring --scope read --expires-days 365
      interlace keys make batch --owner bob --max-queued 1000 --max-solving-s 36000
    """
    from app.cli import keys as work
    from app.storage.keys import NewKey

    limits = {
        "requests_per_s": max_requests_per_s,
        "queued": max_queued,
        "stored_bytes": max_stored_bytes,
        "solving_s": max_solving_s,
        "weight": weight,
    }
    new = NewKey(
        name=name,
        owner=owner,
        team=team,
        scopes=tuple(dict.fromkeys(scope or ["submit"])),
        expires_at=None if expires_days is None else work.after(expires_days),
        limits={what: most for what, most in limits.items() if most is not None},
    )
    from app.cli.rendering.keys import made

    text, known = work.make(new)
    print(made(text, known, as_json=json_))


@keys.command("list")
def list_(json_: AsJson = False) -> None:
    """List all keys, without what is secret of them.

    \b
    Example:
      interlace keys list
    """
    from app.cli import keys as work
    from app.cli.rendering.keys import listed

    print(listed(work.listed(), as_json=json_))


@keys.command("revoke")
def revoke(key: KeyId) -> None:
    """End a key: servers refuse it within a second.

    \b
    Example:
      interlace keys revoke 0123456789ab
    """
    from app.cli import keys as work

    known = work.revoke(key)
    print(f"Key {known.id} ({known.name}) is revoked since {known.revoked_at}.")


@keys.command("rotate")
def rotate(
    key: KeyId,
    overlap_hours: Annotated[
        float,
        typer.Option(min=0, max=8_760, help="So long the old key goes on, too."),
    ] = 24,
    expires_days: ExpiresDays = None,
    json_: AsJson = False,
) -> None:
    """Make a key in the place of another, for the same owner, and print it.

    Without --expires-days it lives as long as the old one was to.

    \b
    Examples:
      interlace keys rotate 0123456789ab
      interlace keys rotate 0123456789ab --overlap-hours 1
    """
    from app.cli import keys as work
    from app.cli.failures import complain
    from app.cli.rendering.keys import made

    text, known, until = work.rotate(key, overlap_hours, expires_days)
    print(made(text, known, as_json=json_))
    complain(f"key {key} goes on until {until}")
