"""Plans of jobs together: shifts in time, priorities, periods, and which plan each job runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil

from solver.jobs.bounds import mean_bound, worst_bound
from solver.jobs.mix import JobTerms, Mix, objective
from solver.jobs.policies import RULES
from solver.jobs.simulate import MixRun, simulate_mix, slowdowns_of
from solver.units import bytes_per_us

#: Steps of a job's iteration in which shifts are tried: of two jobs, of three.
_STEPS = {2: 32, 3: 12}
#: Jobs of which all orders of priorities are tried.
_FEW = 3
#: A plan has to be better by so much, relative, to be more than what asks for less.
_BETTER = 1e-6
#: The most iterations of a run that waits for jobs to meet again.
_MOST_ITERATIONS = 100
#: So many of the best plans are checked, of few jobs and of many, by runs so many times as long as
#: those that find them, of few jobs not above so many iterations.
_CHECKED, _CHECKED_OF_MANY = 24, 4
_LONGER, _LONGER_OF_MANY, _LONGEST = 10, 3, 300
#: In the check of few jobs all but the first also begin so much later, in iterations; where that is
#: worse by more than the second figure it counts: such a plan stands on exact times.
_NUDGE, _NUDGED = 0.001, 0.001
#: Drifts of a job that are tried, as shares of its iteration.
_DRIFTS = (0.005, 0.01, 0.02, 0.05, 0.1)
#: The most by which the objective may get worse for a drift to be tolerated, relative.
_TOLERATED = 0.01
_Terms = tuple[JobTerms, ...]


@dataclass(frozen=True, slots=True)
class RuledMix:
    """A mix under the terms of a rule, or of the plan.

    Attributes
    ----------
    rule
        Key of :data:`solver.jobs.policies.RULES`, or ``"joint"``.
    terms
        Of each job.
    run
        As it ran.
    slowdowns
        Of each job, against its own plan alone.
    mean, worst
        Of the slow-downs; the mean is weighted.
    """

    rule: str
    terms: tuple[JobTerms, ...]
    run: MixRun
    slowdowns: tuple[float, ...]
    mean: float
    worst: float


@dataclass(frozen=True, slots=True)
class MixPlan:
    """The best terms found for a mix.

    Attributes
    ----------
    joint
        The plan.
    rules
        What it is compared with, ``fair`` first.
    mean_bound, worst_bound
        What the mean and the worst slow-down are at least, in the long run.
    tolerated_us
        Of each job how late it may begin against the others [us] before the objective is worse by a
        hundredth, as far as was tried; None where a drift of a tenth changes nothing.
    simulations
        How many runs were simulated.
    """

    joint: RuledMix
    rules: tuple[RuledMix, ...]
    mean_bound: float
    worst_bound: float
    tolerated_us: tuple[float | None, ...]
    simulations: int


def plan_mix(
    mix: Mix,
    iterations: int = 20,
    most_simulations: int = 600,
    *,
    worst: bool = False,
    has_classes: bool = True,
) -> MixPlan:
    """Choose how jobs run beside one another, for the mean or the worst slow-down.

    Begins with the rules; of two and three jobs, all orders of priorities and shifts on a grid are
    tried, free and held at a common period; from the best, one job after another gets another
    shift, class, period or profile while that is better. The best few and the rules then run
    several times as long, of few jobs also with beginnings a thousandth later, where the worse
    counts. The best of these is the plan: it is none of the rules' only where it beats them all.

    Parameters
    ----------
    mix
        The jobs.
    iterations
        Of each job in a run, where no pattern repeats before; more, up to
        :data:`_MOST_ITERATIONS`, where jobs whose times nearly go together take longer to meet
        again: a shift that looks well until then may not later.
    most_simulations
        The effort.
    worst
        Whether the worst slow-down counts, and the mean where it is equal; else the other way.
    has_classes
        Whether the links have classes; else neither the plan nor what it is compared with has any.

    Notes
    -----
    O(simulations x a run).
    """
    iterations = max(iterations, _until_met(mix))
    search = _TermsSearch(mix, iterations, most_simulations, worst=worst, has_classes=has_classes)
    rules = {name: rule(mix) for name, rule in RULES.items()}
    if not has_classes:
        rules = {name: terms for name, terms in rules.items() if not _classes(terms)}
    for terms in rules.values():
        search.score(terms)
    if len(mix.jobs) > 1:
        for terms in _starts(mix, list(rules.values()), has_classes=has_classes):
            search.score(terms)
        for terms in search.best(3):
            search.improve(terms)
    run: Callable[[Mix, str, _Terms, int], RuledMix] = rule_mix
    most, longer = _CHECKED_OF_MANY, iterations * _LONGER_OF_MANY
    if 1 < len(mix.jobs) <= _FEW:
        run, most = partial(_checked, worst=worst), _CHECKED
        longer = max(longer, min(iterations * _LONGER, _LONGEST))
    found = [run(mix, name, terms, longer) for name, terms in rules.items()]
    others = [run(mix, "joint", terms, longer) for terms in search.best(most)]
    best = min([*found, *others], key=lambda each: (*_key(each, worst=worst), _asked(each.terms)))
    for rule in found:  # what asks for less, if it is as good
        if _key(rule, worst=worst)[0] <= _key(best, worst=worst)[0]:
            best = rule
            break
    joint = replace(best, rule="joint")
    return MixPlan(
        joint,
        tuple(found),
        mean_bound(mix),
        worst_bound(mix),
        _tolerated(mix, joint, iterations, worst=worst),
        search.simulations + (1 if run is rule_mix else 2) * (len(found) + len(others)),
    )


def _classes(terms: _Terms) -> int:
    """Count the classes beyond the first."""
    return len({own.priority for own in terms}) - 1


def _until_met(mix: Mix) -> int:
    """Count the iterations in which the slowest pair of jobs slips by one of the shorter."""
    most = 0
    for i, one in enumerate(mix.jobs):
        for other in mix.jobs[:i]:
            ratio = max(one.alone_us, other.alone_us) / min(one.alone_us, other.alone_us)
            slip = abs(ratio - round(ratio))
            if slip > 1 / _MOST_ITERATIONS:
                most = max(most, ceil(1 / slip))
    return most


def rule_mix(
    mix: Mix, rule: str, terms: _Terms, iterations: int = 20, *, is_blamed: bool = True
) -> RuledMix:
    """Run a mix under terms, and name it; ``is_blamed`` keeps who slows whom."""
    run = simulate_mix(mix, terms, iterations, is_blamed=is_blamed)
    slow = slowdowns_of(mix, run)
    weights = [job.weight for job in mix.jobs]
    mean = objective(slow, weights, worst=False)
    return RuledMix(rule, terms, run, slow, mean, max(slow))


def _checked(mix: Mix, rule: str, terms: _Terms, iterations: int, *, worst: bool) -> RuledMix:
    """Run terms as they are and nudged; the latter count where they are worse."""
    plain = rule_mix(mix, rule, terms, iterations)
    nudged = rule_mix(mix, rule, _nudged(mix, terms), iterations)
    if _key(nudged, worst=worst)[0] <= _key(plain, worst=worst)[0] * (1 + _NUDGED):
        return plain
    return replace(nudged, terms=terms)


def _nudged(mix: Mix, terms: _Terms) -> _Terms:
    """Return terms of which all jobs but the first begin a little later."""
    later = (
        replace(own, offset_us=own.offset_us + _NUDGE * job.alone_us)
        for own, job in zip(terms[1:], mix.jobs[1:], strict=True)
    )
    return (terms[0], *later)


def _key(ruled: RuledMix, *, worst: bool) -> tuple[float, float]:
    pair = round(ruled.mean, 9), round(ruled.worst, 9)
    return pair[::-1] if worst else pair


def _asked(terms: _Terms) -> tuple[int, float]:
    """Say how much terms ask for, less first: periods, classes, shifts."""
    count = sum(own.period_us is not None for own in terms)
    count += _classes(terms)
    count += sum(own.offset_us > 0 for own in terms)
    return count, sum(own.offset_us for own in terms)


class _TermsSearch:
    """Terms that were tried, with what they came to."""

    def __init__(
        self, mix: Mix, iterations: int, most: int, *, worst: bool, has_classes: bool
    ) -> None:
        self._mix, self._iterations, self._most, self._worst = mix, iterations, most, worst
        self._has_classes = has_classes
        self._scores: dict[_Terms, tuple[float, float]] = {}

    @property
    def simulations(self) -> int:
        """How many runs were simulated."""
        return len(self._scores)

    def score(self, terms: _Terms) -> tuple[float, float] | None:
        """Return what terms come to, None when the effort is spent."""
        found = self._scores.get(terms)
        if found is None and len(self._scores) < self._most:
            ruled = rule_mix(self._mix, "joint", terms, self._iterations, is_blamed=False)
            found = self._scores[terms] = _key(ruled, worst=self._worst)
        return found

    def best(self, count: int) -> list[_Terms]:
        """Return the best terms, of equal ones those that ask for less."""
        order = sorted(self._scores, key=lambda terms: (*self._scores[terms], _asked(terms)))
        return order[:count]

    def improve(self, terms: _Terms) -> None:
        """Change one job after another while that is better, in ever smaller steps."""
        score = self.score(terms)
        for part in (0.125, 0.03, 0.008):
            better = True
            while better:
                better = False
                for j in range(len(terms)):
                    for other in _changed(self._mix, terms[j], j, part):
                        if other.priority != terms[j].priority and not self._has_classes:
                            continue
                        tried = (*terms[:j], other, *terms[j + 1 :])
                        found = self.score(tried)
                        if found is None or score is None:
                            return
                        if found[0] < score[0] * (1 - _BETTER):
                            terms, score, better = tried, found, True


def _changed(mix: Mix, own: JobTerms, j: int, part: float) -> Iterator[JobTerms]:
    """Yield the terms of a job with one thing changed."""
    period = own.period_us or mix.jobs[j].alone_us
    for step in (-part, part):
        yield replace(own, offset_us=(own.offset_us + step * period) % period)
    if part > 0.1:  # noqa: PLR2004 - once, in the first round
        for priority in (own.priority - 1, own.priority + 1):
            yield replace(own, priority=priority)
        for profile in range(len(mix.jobs[j].profiles)):
            if profile != own.profile:
                yield replace(own, profile=profile)
    if own.period_us is not None:
        yield replace(own, period_us=None)


def _starts(mix: Mix, rules: Sequence[_Terms], *, has_classes: bool) -> Iterator[_Terms]:
    """Yield what a search begins with: priorities, held rules, shifts on a grid."""
    count = len(mix.jobs)
    periods = common_periods(mix)
    for held in periods:
        for terms in rules:
            yield tuple(replace(own, period_us=p) for own, p in zip(terms, held, strict=True))
    if count <= _FEW:
        for classes in product(range(count), repeat=count) if has_classes else ():
            if sorted(set(classes)) == list(range(len(set(classes)))):
                yield tuple(JobTerms(priority=each) for each in classes)
        steps = _STEPS.get(count, 1)
        for held in [(None,) * count, *periods]:
            longest = [h or job.alone_us for h, job in zip(held, mix.jobs, strict=True)]
            for turn in product(range(steps), repeat=count - 1):
                yield tuple(
                    JobTerms(at * own / steps, 0, h)
                    for at, own, h in zip((0, *turn), longest, held, strict=True)
                )


def common_periods(mix: Mix) -> list[tuple[float | None, ...]]:
    """Return periods at which jobs can be held: a common one, and whole parts of it."""
    longest = max(job.alone_us for job in mix.jobs)
    full = 0.0
    for name, gbps in mix.links:
        sent = 0.0
        for job in mix.jobs:
            often = max(1, round(longest / job.alone_us))
            sent += often * job.profiles[0].bytes_on().get(name, 0.0)
        full = max(full, sent / bytes_per_us(gbps))
    found = []
    for common in dict.fromkeys((longest, max(longest, full))):
        whole = [max(1, int(common / job.alone_us * (1 + 1e-9))) for job in mix.jobs]
        found.append(tuple(common / each for each in whole))
    return list(dict.fromkeys(found))


def _tolerated(
    mix: Mix, joint: RuledMix, iterations: int, *, worst: bool
) -> tuple[float | None, ...]:
    """Return how far each job may drift."""
    found: list[float | None] = []
    for j, job in enumerate(mix.jobs):
        limit: float | None = None
        last = 0.0
        for drift in _DRIFTS:
            late = drift * job.alone_us
            own = joint.terms[j]
            terms = list(joint.terms)
            terms[j] = replace(own, offset_us=own.offset_us + late)
            now = rule_mix(mix, "joint", tuple(terms), iterations, is_blamed=False)
            if _key(now, worst=worst)[0] > _key(joint, worst=worst)[0] * (1 + _TOLERATED):
                limit = last
                break
            last = late
        found.append(limit)
    return tuple(found)
