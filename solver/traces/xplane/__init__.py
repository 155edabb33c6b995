"""``*.xplane.pb``, in which the profiler of TensorFlow and JAX keeps what it recorded.

Its planes become the events of the ``*.trace.json.gz`` beside it (:mod:`.events`), numbered by step
where the profiler had not done so yet (:mod:`.grouping`). The programs that it holds tell what the
collectives carry (:mod:`.programs`), so no HLO text is needed beside it.
"""

from solver.traces.profiler import Events, parse
from solver.traces.xplane.events import events_of
from solver.traces.xplane.planes import is_planes

__all__ = ["is_planes", "profile_of"]


def profile_of(content: bytes, place: str) -> Events:
    """Read a profile in either of its forms: planes, or events as JSON.

    Raises
    ------
    InvalidTrace
        As :func:`.events.events_of` and :func:`solver.traces.profiler.parse` do.
    """
    return events_of(content, place) if is_planes(content) else parse(content, place)
