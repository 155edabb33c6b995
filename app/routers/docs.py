"""The documentation page, without any other host: swagger-ui comes from an installed package."""

from html import escape
from importlib import resources

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from app.http.work import AnswersDep

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="/swagger/favicon-32x32.png">
<link rel="stylesheet" href="/swagger/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/swagger/swagger-ui-bundle.js"></script>
<script src="/static/docs.js"></script>
</body>
</html>
"""


@router.head("/docs")
@router.get("/docs")
def docs() -> HTMLResponse:
    """Show the documentation page."""
    return HTMLResponse(_PAGE.format(title=escape("Interlace: API")))


@router.get("/openapi.json")
async def openapi(request: Request, answers: AnswersDep) -> Response:
    """Return the OpenAPI document, which a child writes once."""
    state = request.app.state
    if state.document is None:
        found = await answers.done("app.service:document")
        if isinstance(found, Response):
            return found
        state.document = found.content
    return Response(state.document, media_type="application/json")


def mount_assets(app: FastAPI) -> None:
    """Serve what the page loads."""
    swagger = resources.files("fastapi_swagger") / "resources"
    app.mount("/swagger", StaticFiles(directory=str(swagger)), name="swagger")
    app.mount("/static", StaticFiles(packages=[("app.http", "static")]), name="static")
