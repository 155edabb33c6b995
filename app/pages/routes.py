"""Pages for people: the page of ``/v1/plans/ID`` is ``/plans/ID``.

A page is the same for everybody: what it shows, its scripts ask the API for, with the reader's key
where keys are required. So nothing of a user is ever in the markup that is sent.
"""

from collections.abc import Callable
from functools import cache
from importlib import resources

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, HTMLResponse
from starlette.staticfiles import StaticFiles

from app.pages.markup import SITE, markup
from app.pages.one_file import SAVED, page_file

router = APIRouter(include_in_schema=False)


#: plotly writes styles into elements and a style sheet of its own; scripts are files of ours alone.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


#: Each page: its path, its template (and script), and its title.
PAGES = (
    ("/", "home", "Interlace"),
    ("/plans/{job_id}", "plan", "Plan"),
    ("/simulations/{job_id}", "simulation", "Simulation"),
    ("/sweeps/{job_id}", "sweep", "Sweep"),
    ("/imports/{job_id}", "import", "Import"),
    ("/graphs/{graph_id}", "graph", "Graph"),
    ("/shapes", "shapes", "Shapes of a job"),
    ("/shapes/rankings/{job_id}", "shapes", "Shapes of a job"),
    ("/allocations", "allocations", "Where to put a job"),
    ("/mixes", "mixes", "Jobs that share links"),
    ("/compare", "compare", "Compare"),
    ("/runs", "runs", "Runs"),
    ("/runs/{run_id}", "run", "Run"),
    ("/help", "help", "Help"),
    ("/cost-models/{model_id}", "cost-model", "Cost model"),
    ("/predictions/scaling", "scaling", "Scaling"),
    ("/predictions/parameter-server/{job_id}", "parameter-server", "Prediction"),
)


@cache
def _text(name: str, title: str) -> str:
    """Render a page, when somebody opens it for the first time."""
    return markup(f"{name}.html", name=name, title=title)


def _page(name: str, title: str) -> Callable[[], HTMLResponse]:
    """Return the route of a page."""

    def show() -> HTMLResponse:
        return HTMLResponse(_text(name, title), headers={"Content-Security-Policy": _POLICY})

    return show


for _path, _name, _title in PAGES:
    router.add_api_route(_path, _page(_name, _title), methods=["GET", "HEAD"], name=_name)


#: What is saved is not shown here: a page with answers inside is nothing of the service's own.
_SAVED = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}


def _unfilled(name: str, title: str) -> Callable[[], HTMLResponse]:
    """Return the route of a page as one file with nothing inside yet, which its script fills."""
    return lambda: HTMLResponse(page_file(name, title, {}), headers=_SAVED)


for _name, _title in dict.fromkeys((name, title) for _, name, title in PAGES):
    if _name in SAVED:
        router.add_api_route(f"/one-file/{_name}.html", _unfilled(_name, _title), methods=["GET"])


@router.get("/assets/plotly.min.js")
@router.head("/assets/plotly.min.js")
def plotly() -> FileResponse:
    """Send the charts' library, which lies in the wheel of plotly."""
    path = resources.files("plotly") / "package_data" / "plotly.min.js"
    return FileResponse(str(path), media_type="text/javascript")


def mount_assets(app: FastAPI) -> None:
    """Serve scripts and styles, and the documentation where it was built."""
    if SITE.is_dir():
        app.mount("/help/docs", StaticFiles(directory=SITE, html=True), name="documentation")
    app.mount("/assets", StaticFiles(packages=[("app.pages", "assets")]), name="assets")
