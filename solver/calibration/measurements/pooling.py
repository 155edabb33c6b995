"""Runs of benchmarks put together: only those of one cluster, and each collective by itself."""

from collections.abc import Sequence

from solver.calibration.measurements.readings import Measurements


def differences(runs: Sequence[Measurements]) -> str | None:
    """Say in what runs differ that are to be of one cluster; None when in nothing that they tell.

    Ranks, kinds of devices and machines are compared, where a run names them.
    """
    told: list[str] = []
    for what, values in (
        ("ranks", [str(run.workers) for run in runs if run.workers is not None]),
        ("devices", [" and ".join(run.devices) for run in runs if run.devices]),
        ("machines", [", ".join(run.hosts) for run in runs if run.hosts]),
    ):
        distinct = list(dict.fromkeys(values))
        if len(distinct) > 1:
            told.append(f"{what} ({'; '.join(distinct)})")
    return f"The runs are of several clusters: they differ in {', '.join(told)}." if told else None


def joined(runs: Sequence[Measurements]) -> Measurements:
    """Put runs of one collective together."""
    first = runs[0]
    workers = {run.workers for run in runs if run.workers is not None}
    return Measurements(
        format=first.format,
        samples=tuple(sample for run in runs for sample in run.samples),
        workers=workers.pop() if len(workers) == 1 else None,
        kind=first.kind,
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        hosts=tuple(sorted({host for run in runs for host in run.hosts})),
        devices=tuple(sorted({device for run in runs for device in run.devices})),
        possible=tuple(
            kind for kind in first.possible if all(kind in run.possible for run in runs)
        ),
    )
