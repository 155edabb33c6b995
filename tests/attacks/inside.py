"""The service inside this process, for what needs no server: it opens nothing and has no jobs."""

from pathlib import Path

from fastapi import FastAPI
from starlette.testclient import TestClient

from app.operations.settings import Settings
from app.service import create_app


def inside(folder: Path) -> TestClient:
    """Return a client of a service with the settings of the environment."""
    return client_of(create_app(Settings(data_dir=folder)))


def client_of(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://localhost")
