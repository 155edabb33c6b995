"""Jobs that pages began."""

from tests.app.service import Json, Service
from tests.waiting import until


def ended(service: Service, path: str) -> Json:
    """Return a job of the service when it has ended."""
    until(lambda: service.client.get(path, params={"wait": 50}).json()["finished_at"])
    found: Json = service.client.get(path).json()
    return found
