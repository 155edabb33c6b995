"""The functions that take a whole request, as it is posted, and give the service's answer."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from app.schemas.base import RequestModel
from interlace.inputs import faults_raised, plain

if TYPE_CHECKING:
    from app.schemas.allocations import AllocationAnswer
    from app.schemas.mixes import MixAnswer
    from interlace.results.shape import Shapes

Request = TypeVar("Request", bound=RequestModel)
Answer = TypeVar("Answer")


def shape(request: Mapping[str, Any]) -> "Shapes":
    """Rank the shapes of a job: which parallelism, how long a step, what memory.

    Parameters
    ----------
    request
        What ``POST /v1/shapes`` takes: ``model``, ``gpu``, ``gpus``, ``levels`` and
        ``global_batch``, and whatever is to be fixed, known or measured besides.

    Returns
    -------
    Shapes
        The best shapes and the front of time and memory, with what is proven of the others.

    Raises
    ------
    InvalidOptions
        With all faults.
    """
    from app.schemas.shapes import ShapeRequest  # noqa: PLC0415 - takes time
    from app.services.shapes import answer_of  # noqa: PLC0415
    from interlace.results.shape import Shapes  # noqa: PLC0415

    answer = _answered(request, ShapeRequest, answer_of)
    return Shapes.model_construct(**dict(answer))


def mix(request: Mapping[str, Any]) -> "MixAnswer":
    """Plan jobs that share links together: shifts, priorities, periods.

    Parameters
    ----------
    request
        What ``POST /v1/mixes`` takes: ``links`` and ``jobs``, and what is to be made least.

    Returns
    -------
    MixAnswer
        Each job alone, beside the others, under known rules and planned, with lower bounds.

    Raises
    ------
    InvalidOptions
        With all faults.
    """
    from app.schemas.mixes import MixRequest  # noqa: PLC0415 - takes time
    from app.services.mixes import answer_of  # noqa: PLC0415

    return _answered(request, MixRequest, answer_of)


def allocate(request: Mapping[str, Any]) -> "AllocationAnswer":
    """Rank node sets for a job: which nodes, which rank on which, beside the jobs that run.

    Parameters
    ----------
    request
        What ``POST /v1/allocations`` takes: ``topology`` and ``job``, and ``running``,
        ``candidates`` and what counts besides.

    Returns
    -------
    AllocationAnswer
        Node sets from the best, each with every job's step, and a bound of all mappings.

    Raises
    ------
    InvalidOptions
        With all faults.
    """
    from app.schemas.allocations import AllocationRequest  # noqa: PLC0415 - takes time
    from app.services.allocations import answer_of  # noqa: PLC0415

    return _answered(request, AllocationRequest, answer_of)


def _answered(
    request: Mapping[str, Any], model: type[Request], answer_of: Callable[[Request], Answer]
) -> Answer:
    from app.reading.requests import checked_plain  # noqa: PLC0415 - takes time

    with faults_raised():
        return answer_of(checked_plain(plain(request), model))
