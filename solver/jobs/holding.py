"""Shifts as jobs can hold them: at a common period, with room before and after."""

from collections.abc import Iterator
from dataclasses import replace

from solver.jobs.joint import common_periods
from solver.jobs.mix import JobTerms, Mix, objective
from solver.jobs.simulate import simulate_mix, slowdowns_of

#: By how much longer than planned a period is held where nobody says, relative: as far as a step
#: may be off its prediction. One that is longer than its period loses its place again and again.
SLACK = 0.05
#: Of the shorter iterations so many are a longer one, but for this share, where shifts last.
_NEARLY = 0.04
#: Steps of a period in which room is sought, shared by all jobs, and by how much the mean may be
#: worse there.
_STEPS, _WORSE = 128, 1e-6
#: A job that begins later than this share of its period is late.
_LATE = 1e-6
#: Iterations of the runs, and how often jobs that are late are given later places.
_ITERATIONS, _TRIES = 40, 4
_Terms = tuple[JobTerms, ...]


def hold(mix: Mix, terms: _Terms, slack: float = 0.0) -> _Terms | None:
    """Return terms under which each iteration begins at its place, and never later.

    Shifts without a period last only while nothing is late; with one a job may begin late for ever,
    and be no worse for it in the simulation: both are lost in a run, where a job that is late waits
    for its next place. So all get a period, of those at which the jobs can be held that with the
    least mean slow-down; what begins late gets its place there; and what could begin later without
    loss gets the middle of that time.

    Parameters
    ----------
    mix, terms
        The jobs, and how each runs.
    slack
        By how much longer periods are than planned, relative: what is late catches up by it.

    Returns
    -------
    tuple or None
        The terms as given where nothing is shifted or held; None where the jobs' times do not go
        together, or no place keeps.

    Notes
    -----
    O((128 + jobs) x a run).
    """
    if all(own.offset_us == 0 and own.period_us is None for own in terms):
        return terms
    found = [placed for each in _periods(mix, terms) if (placed := _placed(mix, each, slack))]
    if not found:
        return None
    return _centred(mix, min(found, key=lambda each: _run(mix, each)[0]))


def _periods(mix: Mix, terms: _Terms) -> Iterator[_Terms]:
    """Yield the terms with periods: their own, or those at which the jobs can be held."""
    if all(own.period_us is not None for own in terms):
        yield terms
        return
    means = simulate_mix(mix, terms, _ITERATIONS).means
    often = [round(max(means) / mean) for mean in means]
    if any(abs(max(means) / m - n) > _NEARLY for m, n in zip(means, often, strict=True)):
        return
    longest = max(n * mean for n, mean in zip(often, means, strict=True))
    for periods in (*common_periods(mix), [longest / n for n in often]):
        yield tuple(replace(own, period_us=p) for own, p in zip(terms, periods, strict=True))


def _placed(mix: Mix, terms: _Terms, slack: float) -> _Terms | None:
    """Give what begins late its place there; None where it is later each time."""
    held = tuple(replace(own, period_us=(own.period_us or 0.0) * (1 + slack)) for own in terms)
    for _ in range(_TRIES):
        _, late = _run(mix, held)
        if not any(late):
            return held
        held = tuple(
            replace(own, offset_us=own.offset_us + us) for own, us in zip(held, late, strict=True)
        )
    return None


def _centred(mix: Mix, terms: _Terms) -> _Terms:
    """Begin each job but the first in the middle of the time in which it may without loss."""
    most = _run(mix, terms)[0] * (1 + _WORSE)
    steps = max(4, _STEPS // len(terms))
    for j in range(1, len(terms)):
        step = (terms[j].period_us or 0.0) / steps
        ends = []
        for way in (-step, step):
            room = 0
            while room < steps // 2:
                mean, late = _run(mix, _later(terms, j, (room + 1) * way))
                if mean > most or any(late):
                    break
                room += 1
            ends.append(room * way)
        terms = _later(terms, j, sum(ends) / 2)
    return terms


def _later(terms: _Terms, j: int, much: float) -> _Terms:
    own = terms[j]
    later = replace(own, offset_us=(own.offset_us + much) % (own.period_us or 1.0))
    return (*terms[:j], later, *terms[j + 1 :])


def _run(mix: Mix, terms: _Terms) -> tuple[float, list[float]]:
    """Return the mean slow-down, and by how much each job is late at most [us]."""
    run = simulate_mix(mix, terms, _ITERATIONS)
    late = []
    for own, begins in zip(terms, run.begins, strict=True):
        period = own.period_us or 0.0
        after = [(begin - own.offset_us) % period for begin in begins]
        exact = _LATE * period
        late.append(max((us for us in after if exact < us < period - exact), default=0.0))
    mean = objective(slowdowns_of(mix, run), [job.weight for job in mix.jobs], worst=False)
    return mean, late
