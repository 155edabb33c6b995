"""Write ``openapi/openapi.json``: ``python -m app.write_openapi`` in the root of a checkout."""

import json
from pathlib import Path

from app.operations.settings import Settings
from app.service import create_app


def document() -> str:
    """Return the OpenAPI document of the service, the same bytes each time."""
    app = create_app(Settings(data_dir=Path("unused"), database_url=None))
    content = app.openapi()
    content["info"]["version"] = "1"  # of the interface; the release is at /version
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path("openapi/openapi.json").write_text(document(), encoding="utf-8")
