"""A record of what each resource did for the ops of some steps."""

from collections.abc import Sequence

from solver.parameter_server.record import ServicePeriod


class ServiceRecord:
    """The services of each worker's steps of some numbers.

    Parameters
    ----------
    steps
        Their numbers.
    drawn
        The profiles that each worker draws.
    rates
        Of each link what it carries [bytes/us]; None of what computes.
    """

    def __init__(
        self, steps: range, drawn: Sequence[Sequence[int]], rates: Sequence[float | None]
    ) -> None:
        self._steps = steps
        self._drawn = drawn
        self._rates = rates
        self._started: dict[int, tuple[float, float]] = {}  # by place: start, amount
        self._services: list[ServicePeriod] = []

    def start(self, place: int, amount: float, now: float) -> None:
        """Note that a worker's resource, at its place, begins a service of so long [us]."""
        self._started[place] = now, amount

    def end(self, place: int, number: int, op: int, now: float) -> None:
        """Note the end of what was begun there, for an op of the worker's step of a number."""
        if number in self._steps:
            start, amount = self._started[place]
            worker, resource = divmod(place, len(self._rates))
            rate = self._rates[resource]
            size = None if rate is None else round(amount * rate)
            profile = self._drawn[worker][number]
            self._services.append(ServicePeriod(worker, number, profile, op, size, start, now))

    def in_order(self) -> tuple[ServicePeriod, ...]:
        """Return what was done, by start."""
        return tuple(sorted(self._services, key=lambda s: (s.start, s.worker, s.step, s.op)))
