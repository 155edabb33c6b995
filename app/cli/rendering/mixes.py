"""A plan of jobs beside one another, for a reader."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.mixes import MixAnswer, RuledMixOut

#: Of who slows whom so many lines are written.
_MOST = 8


def render(answer: MixAnswer) -> str:
    """Write a plan of a mix as a page of text."""
    jobs = answer.joint.jobs
    full = max(answer.loads, key=lambda name: answer.loads[name])
    head = (
        f"{counted(len(jobs), 'job')} on {counted(len(answer.loads), 'link')}; of {full!r} all "
        f"need {answer.loads[full]:.0%} of the time"
    )
    fair = answer.rules[0]
    best = "joint" if answer.best == "joint" else f"joint (as {answer.best})"
    return page(
        [head],
        [_times(answer)],
        [_rules(answer, best)],
        *([["Who slows whom, as they are:", _blames(fair)]] if fair.blames else []),
        ["What to do:", *(f"  {line}" for line in answer.advice)],
        answer.notes,
    )


def _times(answer: MixAnswer) -> Line:
    heads = ["job", "alone ms", "fair ms", "p95 ms", "joint ms", "p95 ms", "slow-down"]
    rows = zip(answer.rules[0].jobs, answer.joint.jobs, strict=True)
    return table(
        heads,
        (
            [
                now.job,
                f"{now.alone_us / 1e3:,.1f}",
                f"{now.mean_us / 1e3:,.1f}",
                f"{now.p95_us / 1e3:,.1f}",
                f"{then.mean_us / 1e3:,.1f}",
                f"{then.p95_us / 1e3:,.1f}",
                f"{now.slowdown:.3f} -> {then.slowdown:.3f}",
            ]
            for now, then in rows
        ),
    )


def _rules(answer: MixAnswer, best: str) -> Line:
    def rows() -> Iterator[list[str]]:
        for ruled in answer.rules:
            yield [ruled.rule, f"{ruled.mean:.3f}", f"{ruled.worst:.3f}"]
        yield [best, f"{answer.joint.mean:.3f}", f"{answer.joint.worst:.3f}"]
        yield ["lower bound", f"{answer.mean_bound:.3f}", f"{answer.worst_bound:.3f}"]

    return table(["rule", "mean slow-down", "worst"], rows())


def _blames(ruled: RuledMixOut) -> Line:
    return table(
        ["job", "is slowed by", "on link", "ms an iteration"],
        (
            [each.job, each.by, each.link, f"{each.delay_us / 1e3:,.1f}"]
            for each in ruled.blames[:_MOST]
        ),
    )
