"""What is sent: bodies of requests, written once, so that a second try is the same request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Union

import httpx

from interlace_client.answers import Json, Plan

#: As the API takes it, or the id of a stored one.
Graph = Union[Mapping[str, Any], str]
#: As the service answered it, or a file had it; or the id of a stored one.
PlanOrId = Union[Plan, Mapping[str, Any], str]
#: A file's bytes, or those of several.
Files = Union[bytes, Sequence[bytes]]
#: A body and its media type.
Content = tuple[bytes, str]


def about(graph: Graph, cluster: Mapping[str, Any], fields: Mapping[str, Any]) -> Json:
    """Return a request about a graph; a plan among its fields stands for its JSON."""
    plan = fields.get("plan")
    given = {"plan": plan.raw} if isinstance(plan, Plan) else {}
    return {**graph_field(graph), "cluster": cluster, **fields, **given}


def graph_field(graph: Graph) -> Json:
    """Return the field of a request that has a graph, or its id."""
    return {"graph_id" if isinstance(graph, str) else "graph": graph}


def plan_field(plan: PlanOrId) -> Json:
    """Return the field of a request that has a plan, of which it is all that counts, or its id."""
    if isinstance(plan, str):
        return {"plan_id": plan}
    raw = plan.raw if isinstance(plan, Plan) else plan
    return {"plan": {name: raw[name] for name in ("buckets", "schedule") if name in raw}}


def json_content(request: Mapping[str, Any]) -> Content:
    """Return a JSON body.

    Raises
    ------
    ValueError
        For what JSON has no word for: NaN and infinities.
    """
    return json.dumps(request, allow_nan=False).encode(), "application/json"


def files_content(files: Files, parameters: str | None) -> Content:
    """Return a file as it is; several, or one with the model's parameters, as a form.

    Its boundary is made of the files: the same files are the same bytes.
    """
    if isinstance(files, bytes) and parameters is None:
        return files, "application/octet-stream"
    each = [files] if isinstance(files, bytes) else files
    named = [("files", (str(i), content)) for i, content in enumerate(each)]
    boundary = hashlib.sha256(b"".join(each)).hexdigest()
    media = f"multipart/form-data; boundary={boundary}"
    field = {} if parameters is None else {"parameters": parameters}
    headers = {"content-type": media}
    form = httpx.Request("POST", "http://form", data=field, files=named, headers=headers)
    return form.read(), media
