"""Pictures of the service's pages: ``python -m docs.generate.screenshots`` takes them anew.

It starts a service of its own, has a few examples planned, swept and imported, opens each page in
headless Chromium and writes ``docs/pictures/page-NAME.png``. ``--all FOLDER`` writes each page at
390, 1,280 and 2,560 pixels in both themes instead, to look at.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
from playwright.sync_api import Browser, sync_playwright

from app.routers.allocations import EXAMPLE as ALLOCATION
from app.routers.mixes import EXAMPLE as MIX
from app.routers.runs import EXAMPLE, PLAN, TRIAL_EXAMPLE
from app.routers.shapes import EXAMPLE as SHAPES

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
_DATA = ROOT / "tests" / "data"
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
_PATIENCE_S = 120.0
_STEP = [
    {"id": "pull1", "resource": "downlink", "bytes": 8_000_000},
    {"id": "pull2", "resource": "downlink", "bytes": 60_000_000},
    {"id": "f1", "resource": "worker", "duration_us": 30_000, "after": ["pull1"]},
    {"id": "f2", "resource": "worker", "duration_us": 30_000, "after": ["f1", "pull2"]},
    {"id": "b2", "resource": "worker", "duration_us": 60_000, "after": ["f2"]},
    {"id": "push2", "resource": "uplink", "bytes": 60_000_000, "after": ["b2"]},
    {"id": "update2", "resource": "server", "duration_us": 6_000, "after": ["push2"]},
    {"id": "b1", "resource": "worker", "duration_us": 60_000, "after": ["b2"]},
    {"id": "push1", "resource": "uplink", "bytes": 8_000_000, "after": ["b1"]},
    {"id": "update1", "resource": "server", "duration_us": 800, "after": ["push1"]},
]


@contextmanager
def service() -> Iterator[httpx2.Client]:
    """Run a service with an empty database on a free port."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"INTERLACE_DATA_DIR": folder, "PATH": "/usr/bin:/bin"},
            cwd=ROOT,
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            with httpx2.Client(base_url=address, timeout=_PATIENCE_S, trust_env=False) as client:
                yield client
        finally:
            process.terminate()
            process.communicate(timeout=60)


def things(client: httpx2.Client) -> dict[str, str]:
    """Have something made for each page; the pages by name."""

    def made(path: str, body: Any) -> str:
        answer = client.post(path, json=body, headers={"Prefer": "wait=60"})
        if answer.is_error:
            sys.exit(answer.text)
        return str(answer.json()["id"])

    def example(name: str) -> Any:
        return client.get(f"/v1/examples/{name}").json()

    planned = {
        name: made("/v1/plans", example(name)) for name in ("two_layers", "resnet50", "t5_small")
    }
    traces = {
        f"rank{i}": (file.name, file.read_bytes())
        for i, file in enumerate(sorted(_DATA.glob("kineto_gloo_*.json.gz")))
    }
    answer = client.post(
        "/v1/graphs",
        files=traces,
        params={"name": "two ranks"},
        headers={"X-Interlace-Request": "1"},
    )
    if answer.is_error:
        sys.exit(answer.text)
    vgg16 = example("vgg16")
    swept = {
        "workers": [2, 4, 8, 16, 32, 64],
        "bandwidths_gbps": [5, 10, 25, 50, 100],
        "policies": ["wfbp", "ddp", "horovod", "pace", "plan"],
    }
    sweep = made("/v1/sweeps", {"graph": vgg16["graph"], "cluster": vgg16["cluster"], **swept})
    samples = [
        [size, 30 + size / 11_000 * (1.3 if size > 2**22 else 1) + size % 7]
        for size in (2**k + k for k in range(10, 28))
    ]
    model = made("/v1/cost-models", {"name": "8 workers, measured", "samples": samples})
    steps = {
        "name": "three layers",
        "batch_size": 32,
        "bandwidths_gbps": [5, 10],
        "workers": [1, 2, 4, 8, 16],
        "simulated_steps": 200,
        "steps": [{"ops": _STEP}],
    }
    prediction = made("/v1/predictions/parameter-server", steps)
    imports = client.get("/v1/imports").json()["imports"]
    ddp = {"graph": vgg16["graph"], "cluster": vgg16["cluster"], "policy": "ddp"}
    plan = made("/v1/plans", vgg16)
    simulation = made("/v1/simulations", ddp)
    return {
        "home": "/",
        "plan": f"/plans/{planned['t5_small']}",
        "compare": f"/compare?a=plans/{plan}&b=simulations/{simulation}",
        "shapes": linked("/shapes", SHAPES),
        "allocations": linked("/allocations", ALLOCATION),
        "mixes": linked("/mixes", MIX),
        "run": f"/runs/{run_of(client)}",
        "simulation": f"/simulations/{simulation}",
        "sweep": f"/sweeps/{sweep}",
        "cost-model": f"/cost-models/{model}",
        "scaling": "/predictions/scaling?example=vgg16",
        "parameter-server": f"/predictions/parameter-server/{prediction}",
        "import": f"/imports/{imports[0]['id']}",  # and of the graph that it made
    }


def linked(page: str, body: Any) -> str:
    """Return the link of a page that asks while its reader waits."""
    return f"{page}#request={quote(json.dumps(body))}"


def run_of(client: httpx2.Client) -> str:
    """Report a run whose bandwidth halves, and which then takes over another plan."""
    run = client.post("/v1/runs", json=EXAMPLE).json()["id"]
    slower = {**EXAMPLE["cluster"], "bandwidth_gbps": 5}
    steps = [
        {"step": n, "plan": n // 60, "measured_us": (8_800, 15_600)[n // 60] + n * 7_919 % 300}
        for n in range(120)
    ]
    reports = (
        ("steps", {"steps": steps[:60]}),
        ("plans", {"from_step": 60, "why": "drift", "plan": PLAN, "cluster": slower}),
        ("steps", {"steps": steps[60:]}),
        ("trials", TRIAL_EXAMPLE),
    )
    for what, body in reports:
        answer = client.post(f"/v1/runs/{run}/{what}", json=body)
        if answer.is_error:
            sys.exit(answer.text)
    return str(run)


def take(
    browser: Browser,
    address: str,
    path: str,
    file: Path,
    width: int,
    scheme: Any,
    *,
    is_whole: bool,
) -> None:
    """Open a page, wait until it asks nothing more, and write its top or all of it."""
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": 1050}, color_scheme=scheme
    )
    page = context.new_page()
    page.goto(path)
    page.wait_for_load_state("networkidle")
    page.wait_for_function("!document.querySelector('#work progress')")
    page.wait_for_timeout(500)
    page.screenshot(path=file, full_page=is_whole)
    context.close()


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", type=Path, metavar="FOLDER", dest="folder")
    parser.add_argument("--page", action="append", metavar="NAME", help="Of these pages alone.")
    given = parser.parse_args()
    folder = given.folder
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    with service() as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        address = str(client.base_url)
        for name, path in things(client).items():
            if given.page and name not in given.page:
                continue
            if folder is None:
                file = PICTURES / f"page-{name}.png"
                take(browser, address, path, file, 1280, "light", is_whole=False)
                continue
            folder.mkdir(parents=True, exist_ok=True)
            for width in (390, 1280, 2560):
                for scheme in ("light", "dark"):
                    file = folder / f"{name}-{width}-{scheme}.png"
                    take(browser, address, path, file, width, scheme, is_whole=True)
        browser.close()


if __name__ == "__main__":
    main()
