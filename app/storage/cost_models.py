"""Cost models that are kept."""

import secrets
from typing import TYPE_CHECKING

from app.schemas.lists import CostModelList
from app.storage.clock import now
from app.storage.database import Store
from app.storage.json_text import with_fields
from app.storage.tables import CostModelRow

if TYPE_CHECKING:
    from app.schemas.cost_models import CostModelAnswer, CostModelRequest


def keep(store: Store, request: "CostModelRequest", answer: "CostModelAnswer") -> CostModelRow:
    """Keep a cost model under an id of its own."""
    row = CostModelRow(
        id=secrets.token_hex(8),
        created_at=now(),
        name=answer.name,
        algorithm=answer.model.algorithm,
        request=request.model_dump_json(),
        result=answer.model_dump_json(),
    )
    store.add(row)
    return row


def json_of(row: CostModelRow) -> bytes:
    """Return a cost model as it is answered: its id and age, and what it was kept with."""
    return with_fields({"id": row.id, "created_at": row.created_at}, row.result)


def request_and_answer(row: CostModelRow) -> "tuple[CostModelRequest, CostModelAnswer]":
    """Return what a cost model was made of, and what came of it."""
    from app.schemas.cost_models import (  # noqa: PLC0415 - for children alone
        CostModelAnswer,
        CostModelRequest,
    )

    return (
        CostModelRequest.model_validate_json(row.request),
        CostModelAnswer.model_validate_json(row.result),
    )


def newest(store: Store, limit: int) -> CostModelList:
    """Return the newest cost models, in brief."""
    return CostModelList.of(cost_models=store.newest(CostModelRow, limit))
