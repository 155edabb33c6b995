"""The documentation page loads from this host alone."""

import re

import pytest

from tests.app.service import Service


def test_page_loads_nothing_from_elsewhere(service: Service) -> None:
    page = service.client.get("/docs")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert policy == "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"
    assert not re.search(r"(?:https?:)?//", page.text.replace("<!doctype", ""))
    assert not re.search(r"<script(?![^>]*\bsrc=)", page.text), "an inline script"
    assert not re.search(r"<style|\sstyle=|\son\w+=", page.text), "inline style or handler"
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) == 4
    for path in loaded:
        assert service.client.get(path).status_code == 200


def test_swagger_is_of_version_5(service: Service) -> None:
    script = service.client.get("/swagger/swagger-ui-bundle.js").text
    assert re.search(r'"?version"?:"5\.|SwaggerUI.{0,200}5\.\d+\.\d+|"v?5\.\d+\.\d+"', script)


@pytest.mark.parametrize("path", ["/docs", "/v1/plans", "/nowhere", "/static/docs.js"])
def test_every_answer_has_the_headers(service: Service, path: str) -> None:
    headers = service.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in headers["content-security-policy"]
