"""The page of jobs that share links: predicted from each alone, beside measured."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from solver.jobs.holding import SLACK
from solver.jobs.mix import JobTerms
from tests.testbed.mixes import (
    ALONE,
    FAIR,
    JOINT,
    MIXES,
    PRIORITIES,
    SHIFTED,
    counted,
    means_of,
    mix_of,
)
from tests.testbed.servers_page import table

#: A gain that counts, the share of it that should come true, and how near a prediction should be.
_GAIN, _REALISED, _NEAR = 0.15, 0.7, 0.05
#: A step that is so many times as long as the median has waited for its next place.
_LOST = 1.5
_COLUMNS = {
    ALONE: "alone",
    FAIR: "as they are",
    SHIFTED: "shifted",
    PRIORITIES: "priorities",
    JOINT: "joint",
}
_HEAD = """\
# Jobs that share links: predicted beside measured

<!-- written by python -m tests.testbed --parts jobs -->

Training jobs of two workers each whose links are shared ([how](../how-to/share-links.md)). Each job
is recorded, and its launches are calibrated, while no other sends: from these alone each time is
predicted. Two jobs that are the same program are recorded once.

{said}

Workers are in racks at the ends of links. A job's layers sleep for their time; its gradients are
real, and `PlannedDDP` sends them before the optimizer's step: all at once after the backward pass,
or by a plan. Each job has a queue of its own on a link, as with the fair queues that Linux has by
default.

- **as they are**: all jobs begin at once;
- **shifted**: the joint plan without classes, as jobs hold it by `hold_phase`: offsets, and a
  period {slack:.0%} longer than planned; {shifted_steps} steps of the longest job in one run, and
  half as many the second time;
- **priorities**: Crux's, by classes of htb (a lower one always has 1 % of the link);
- **joint**: the joint plan, where it has classes.

Jobs that are not shifted train in {rounds} rounds of {steps} steps (alone in one), which begin
anew: nothing parts jobs that collide, and nothing brings them back when a lost packet has parted
them. A time is the median of the rounds' means; the first quarter of a round's steps does not
count. All is measured twice.
"""
_JOBS = """\
## Jobs

Megabytes of gradients, compute that sleeps in a step [ms], how gradients are sent, between which
racks, and the place of a step within its period when shifted [ms].
"""
_TIMES = """\
## Steps

The two measured times of a step [ms], and by how much the prediction is off their mean. A column
that is empty has the terms of one to its left, or of none: where no shift lasts, none is held. Held
steps take their period, as long as they keep their places.
"""
_SHIFTS = """\
## Shifts

By how much the mean slow-down is less than as they are: predicted, measured, and the share of the
first that came true. Then whether shifts hold: the mean time of the steps in the first and in the
last quarter of a run, relative to the period, of the job where the latter is largest; and how many
steps in all runs lost their place, and waited for the next.
"""


@dataclass(frozen=True)
class JobTime:
    """What a step of a job takes on some terms [us]: as measured each time, and predicted."""

    mix: str
    job: str
    rule: str
    measured: tuple[float, ...]
    predicted: float

    @property
    def mean(self) -> float:
        """The measured times together."""
        return fmean(self.measured)

    @property
    def error(self) -> float:
        """By how much the prediction is off."""
        return self.predicted / self.mean - 1


@dataclass(frozen=True)
class ShiftGain:
    """What a shift saves of the mean slow-down, and how it held."""

    mix: str
    predicted: float
    measured: float
    first: float
    last: float
    lost: int
    steps: int

    @property
    def realised(self) -> float | None:
        """What share of the gain came true; None where none was predicted."""
        return self.measured / self.predicted if self.predicted > 0 else None


def times_of(cell: Mapping[str, Any]) -> list[JobTime]:
    """Predict a cell's times, and gather what was measured."""
    mix = mix_of(cell)
    names = [job.name for job in mix.jobs]
    measured: dict[tuple[str, int], list[float]] = {}
    predicted: dict[tuple[str, int], float] = {}
    for run in cell["runs"]:
        terms = {int(i): JobTerms(**own) for i, own in run["terms"].items()}
        rounds = [[fmean(steps) for steps in counted(said)] for said in run["rounds"]]
        means = means_of(mix, terms, run["steps"])
        for i, own, mean in zip(terms, zip(*rounds, strict=True), means, strict=True):
            measured.setdefault((run["rule"], i), []).append(median(own))
            predicted[run["rule"], i] = mean
    return [
        JobTime(cell["mix"], names[i], rule, tuple(times), predicted[rule, i])
        for (rule, i), times in measured.items()
    ]


def gain_of(cell: Mapping[str, Any], times: Sequence[JobTime]) -> ShiftGain | None:
    """Say what the shift of a mix saves; None where none was worth it."""
    runs = [run for run in cell["runs"] if run["rule"] == SHIFTED]
    if not runs:
        return None
    predicted, measured = (
        1 - _slowdown(times, SHIFTED, value) / _slowdown(times, FAIR, value)
        for value in ("predicted", "mean")
    )
    held = []
    lost = steps = 0
    for run in runs:
        for i, own in enumerate(counted(run["rounds"][0])):
            period = run["terms"][str(i)]["period_us"] or median(own)
            quarter = len(own) // 3  # of all, as the first does not count
            held.append((fmean(own[-quarter:]) / period, fmean(own[:quarter]) / period))
            lost += sum(step > _LOST * median(own) for step in own)
            steps += len(own)
    last, first = max(held)
    return ShiftGain(cell["mix"], predicted, measured, first, last, lost, steps)


def _slowdown(times: Sequence[JobTime], rule: str, value: str) -> float:
    """Return the mean slow-down of a mix on some terms, as measured or as predicted."""
    alone = {time.job: getattr(time, value) for time in times if time.rule == ALONE}
    return fmean(getattr(time, value) / alone[time.job] for time in times if time.rule == rule)


def write(folder: Path, part: Mapping[str, Any]) -> str:
    """Write ``jobs.json`` and ``jobs.md``; return the page.

    Mixes of a file that is there and that were not measured again stay as they are in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = _kept(folder / "jobs.json", {cell["mix"] for cell in part["cells"]})
    times = [time for cell in part["cells"] for time in times_of(cell)]
    gains = [
        gain
        for cell in part["cells"]
        if (gain := gain_of(cell, [time for time in times if time.mix == cell["mix"]]))
    ]
    times = [*(JobTime(**own) for own in before["times"]), *times]
    gains = [*(ShiftGain(**own) for own in before["shifts"]), *gains]
    cells = [*before["mixes"], *(_plain(cell) for cell in part["cells"])]
    said = list(part["said"])
    if before["mixes"]:
        again = ", ".join(cell["mix"] for cell in part["cells"])
        said = [*before["said"], f"Measured later: {again}.", *part["said"]]
    runs = [run for cell in cells for run in cell["runs"]]
    steps = {run["rule"]: run["steps"] for run in reversed(runs)}  # of the first time
    rounds = [len(run["rounds"]) for cell in part["cells"] for run in cell["runs"]]
    summary = _summary(times, gains)
    text = [
        _HEAD.format(
            said="\n".join(f"- {each}" for each in (*said, _beside(runs), *_left_out(cells))),
            shifted_steps=steps.get(SHIFTED, 0),
            steps=steps[ALONE],
            rounds=max(rounds),
            slack=SLACK,
        ),
        _sentences(summary),
        _JOBS,
        table(
            ("mix", "job", "MB", "compute", "sent", "racks", "offset", "period"),
            [row for cell in cells for row in _jobs(cell)],
        ),
        _TIMES,
        table(("mix", "job", *_COLUMNS.values()), list(_rows(times))),
        _SHIFTS,
        table(
            ("mix", "predicted", "measured", "came true", "first", "last", "lost"),
            [
                (
                    gain.mix,
                    f"{gain.predicted:.1%}",
                    f"{gain.measured:.1%}",
                    "" if gain.realised is None else f"{gain.realised:.0%}",
                    f"{gain.first:.3f}",
                    f"{gain.last:.3f}",
                    f"{gain.lost} of {gain.steps}",
                )
                for gain in gains
            ],
        ),
    ]
    kept = {
        "said": said,
        "summary": summary,
        "times": [asdict(time) for time in times],
        "shifts": [asdict(gain) for gain in gains],
        "mixes": cells,
    }
    (folder / "jobs.json").write_text(json.dumps(kept, indent=1) + "\n")
    page = "\n".join(text).rstrip() + "\n"
    (folder / "jobs.md").write_text(page)
    return page


def _summary(times: Sequence[JobTime], gains: Sequence[ShiftGain]) -> dict[str, Any]:
    errors = [abs(time.error) for time in times]
    spreads = [max(time.measured) / min(time.measured) - 1 for time in times]
    large = [gain for gain in gains if gain.predicted >= _GAIN]
    return {
        "times": len(times),
        "near": sum(error <= _NEAR for error in errors),
        "median": median(errors),
        "worst": max(errors),
        "median_spread": median(spreads),
        "worst_spread": max(spreads),
        "large_gains": len(large),
        "realised": sum((gain.realised or 0.0) >= _REALISED for gain in large),
        "least_realised": min((gain.realised or 0.0 for gain in large), default=None),
    }


def _sentences(summary: Mapping[str, Any]) -> str:
    lines = [
        f"Of {summary['times']} times {summary['near']} are predicted within {_NEAR:.0%}; "
        f"predictions are {summary['median']:.1%} off in the median, {summary['worst']:.1%} at "
        "worst.",
        f"The two measured times differ by {summary['median_spread']:.1%} in the median, by "
        f"{summary['worst_spread']:.1%} at most.",
    ]
    if summary["large_gains"]:
        lines.append(
            f"Shifts that were predicted to save {_GAIN:.0%} or more: {summary['large_gains']}; "
            f"{summary['realised']} of them saved {_REALISED:.0%} of that or more, the least "
            f"{summary['least_realised']:.0%}."
        )
    return "\n".join(f"- {line}" for line in lines) + "\n"


def _beside(runs: Sequence[Mapping[str, Any]]) -> str:
    loads = [run["load"] for run in runs]
    return (
        "Beside it: other programs of the machine, at a lower priority; its load was "
        f"{min(loads):.1f} to {max(loads):.1f}, {median(loads):.1f} in the median."
    )


def _jobs(cell: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield what each job of a mix is, and how it is shifted."""
    runs = [run for run in cell["runs"] if run["rule"] == SHIFTED]
    shifted: Mapping[str, Any] = runs[0]["terms"] if runs else {}
    for i, job in enumerate(cell["jobs"]):
        own = shifted.get(str(i), {"offset_us": None, "period_us": None})
        yield (
            cell["mix"],
            f"{i + 1}: {job['model']}",
            f"{job['megabytes']:g}",
            f"{job['compute_ms']:g}",
            "at once" if job["is_whole"] else "by a plan",
            "{}-{}".format(*job["path"]),
            *(
                "" if us is None else f"{us / 1e3:.1f}"
                for us in (own["offset_us"], own["period_us"])
            ),
        )


def _kept(path: Path, again: Collection[str]) -> dict[str, Any]:
    """Return what a file has of mixes that were not measured again."""
    before = json.loads(path.read_text()) if path.exists() else {}
    return {
        "said": before.get("said", []),
        **{
            name: [each for each in before.get(name, []) if each["mix"] not in again]
            for name in ("times", "shifts", "mixes")
        },
    }


def _left_out(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say which mixes there are, and were not measured."""
    measured = {cell["mix"] for cell in cells}
    if left := [name for name in MIXES if name not in measured]:
        yield f"Not measured yet: {', '.join(left)}."


def _rows(times: Sequence[JobTime]) -> list[tuple[str, ...]]:
    """Return a row for each job of each mix."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for time in times:
        figures = ", ".join(f"{us / 1e3:.1f}" for us in time.measured)
        rows.setdefault((time.mix, time.job), {})[time.rule] = f"{figures} ({time.error:+.1%})"
    return [(*key, *(row.get(rule, "") for rule in _COLUMNS)) for key, row in rows.items()]


def _plain(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell without graphs and single steps."""
    left_out = {"graph", "cluster", "launches"}
    jobs = [{k: v for k, v in job.items() if k not in left_out} for job in cell["jobs"]]
    runs = [{key: run[key] for key in ("rule", "steps", "terms", "load")} for run in cell["runs"]]
    return {"mix": cell["mix"], "mbit": cell["mbit"], "jobs": jobs, "runs": runs}
