"""Settings of the environment, for the commands of whoever runs the service."""

from pydantic import ValidationError

from app.cli.failures import MISUSED, CommandFailure
from app.operations.settings import Settings


def settings() -> Settings:
    """Read the settings; what is wrong with one is a misuse of the command, a line each."""
    try:
        return Settings()
    except ValidationError as error:
        lines = [
            f"INTERLACE_{str(item['loc'][0]).upper()}: {item['msg']}"
            for item in error.errors(include_url=False)
        ]
        raise CommandFailure(*lines, code=MISUSED) from None
