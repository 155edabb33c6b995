"""Cost models that are kept."""

import secrets

from app.schemas.cost_models import CostModelAnswer, CostModelList, CostModelRequest
from app.storage.clock import now
from app.storage.database import Store, Stored
from app.storage.tables import CostModelRow


def keep(store: Store, request: CostModelRequest, answer: CostModelAnswer, began: str) -> Stored:
    """Keep a cost model that was begun to be made at a time of day."""
    light = {"name": answer.name, "algorithm": answer.model.algorithm}
    asked, found = request.model_dump_json(), answer.model_dump_json()
    job = {
        "id": secrets.token_hex(8),
        "state": "succeeded",
        "created_at": began,
        "finished_at": now(),
    }
    stored = Stored(job, light, asked, found)
    store.add(CostModelRow, stored)
    return stored


def newest(store: Store, limit: int) -> CostModelList:
    """Return the newest cost models, in brief."""
    return CostModelList.model_validate({"cost_models": store.newest(CostModelRow, limit)})
