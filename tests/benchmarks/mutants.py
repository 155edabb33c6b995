"""How many small faults in the solver its tests notice.

Run it with ``make mutants``, or ``python -m tests.benchmarks.mutants [--sample 200] [--seed 0]
[--out FILE]`` where the extra ``mutants`` is installed. ``--again FILE`` tries the mutants of an
earlier ``--out`` on the code and the tests as they are now, with ``--survivors`` those alone that
nothing killed. PROTOCOL.md says what is measured.
Linux only.
"""

import argparse
import compileall
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path

from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome
from coverage import CoverageData

from tests.benchmarks import mutants_hooks
from tests.benchmarks.mutation_sites import (
    PACKAGE,
    ROOT,
    Mutant,
    Site,
    found_again,
    mutated,
    sample,
    sites,
)
from tests.conftest import SHARED

#: What tests say is read by this script alone, which sets limits of CPU time itself.
OPTIONS = "-q -p no:cacheprovider --assert=plain --tb=no --timeout=0"
PYTEST = f"{shlex.quote(sys.executable)} -m pytest {OPTIONS}"
#: The CPU time of a mutant's tests is at most so many times what they took when they were recorded,
#: which made them 2 to 3 times as slow, and so much more for their start [s].
TIMES, START_S = 2, 15
#: Who uses no CPU has so many times as long: the machine may have other work.
WAIT = 10
#: Tests of so much time are run first [s], then as much again, and so on.
FIRST_S = 10
#: The most memory of a process that runs tests [bytes].
MEMORY = 6 * 2**30
KILLED, LIMIT, SURVIVED, UNFINISHED, UNCLEAR = (
    "killed",
    "limit",
    "survived",
    "unfinished",
    "unclear",
)


@dataclass(frozen=True)
class Recording:
    """The CPU time of each test [s], and which tests run each line of each module."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: of the tests that cover it, how many it got, and which failed."""

    mutant: Mutant
    outcome: str
    tests: int
    covering: int
    seconds: float
    killer: str
    diff: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="the same mutants as in an earlier --out")
    parser.add_argument("--survivors", action="store_true", help="of these the ones not killed")
    parser.add_argument("--out", type=Path, help="the verdicts as JSON")
    parser.add_argument("--tests", nargs="+", default=["tests/solver"])
    parser.add_argument("--pytest", default="", help="further options of pytest")
    parser.add_argument(
        "--most-s", type=float, default=math.inf, help="recorded time of one mutant's tests at most"
    )
    args = parser.parse_args()
    everything = sites()
    earlier = _read(args.again) if args.again else []
    if args.survivors:
        earlier = [each for each in earlier if each.outcome not in {KILLED, LIMIT}]
    drawn = [verdict.mutant for verdict in earlier] or sample(everything, args.sample, args.seed)
    out = args.out and args.out.absolute()
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder, chdir(_copy(Path(folder))):
        os.environ["PYTHONPATH"] = str(Path.cwd())  # for what the tests start
        recording = record(args.tests, args.pytest)
        print(f"{len(recording.seconds)} tests, {sum(recording.seconds.values()):.0f} s")
        for mutant in drawn:
            now = found_again(mutant, everything)
            if now is None:
                print(f"gone: {mutant}")
                continue
            verdicts.append(judge(mutant, everything[now], recording, args))
            _print(verdicts[-1])
            if out:
                out.write_text(json.dumps([asdict(each) for each in verdicts], indent=1))
        flaky = failing({verdict.killer for verdict in verdicts}, args.pytest)
    for verdict in verdicts:
        if verdict.outcome in {SURVIVED, UNFINISHED, UNCLEAR}:
            print(f"\n{verdict.outcome} {_share(verdict)}\n{verdict.diff}")
    print(f"\nTests that killed and fail without a mutant, too: {', '.join(flaky) or 'none'}")
    print(summary(verdicts))
    if earlier:
        both = {verdict.mutant for verdict in verdicts}
        print("before:", summary([verdict for verdict in earlier if verdict.mutant in both]))


def summary(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.outcome for verdict in verdicts)
    return (
        f"{counts[KILLED] + counts[LIMIT]} of {len(verdicts)} mutants killed, "
        f"{counts[LIMIT]} of them by a limit; {counts[SURVIVED]} survived, "
        f"{counts[UNFINISHED]} unfinished, {counts[UNCLEAR]} unclear"
    )


def _print(verdict: Verdict) -> None:
    mutant, operator = verdict.mutant, verdict.mutant.operator.rpartition("/")[2]
    print(
        f"{verdict.outcome:<9}{verdict.seconds:>6.1f} s {_share(verdict):>20}  "
        f"{mutant.module} {mutant.scope}: {mutant.line} ({operator}) {verdict.killer}",
        flush=True,
    )


def _share(verdict: Verdict) -> str:
    return f"{verdict.tests} of {verdict.covering} tests"


def _read(path: Path) -> list[Verdict]:
    rows = json.loads(path.read_text())
    return [Verdict(**{**row, "mutant": Mutant(**row["mutant"])}) for row in rows]


def _copy(folder: Path) -> Path:
    """Copy the project, beside the same folder of real traces, to make mutants there."""
    project = folder / "project"
    shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    if SHARED.is_dir():
        (folder / SHARED.parent.name).symlink_to(SHARED.parent)
    compileall.compile_dir(project, quiet=1)  # once: cosmic-ray lets tests compile nothing for good
    return project


def record(tests: Sequence[str], options: str) -> Recording:
    """Run all tests on the code as it is; those that fail are left out from then on."""
    coverage = f"--cov={PACKAGE} --cov-context=test --cov-report= --cov-fail-under=0"
    _pytest(f"-p {mutants_hooks.__name__} {coverage} {options} {shlex.join(tests)}", None)
    seconds = mutants_hooks.seconds(Path())
    data = CoverageData(".coverage")
    data.read()
    lines = {
        Path(path).relative_to(Path.cwd()).as_posix(): {
            line: {context.rpartition("|")[0] for context in contexts} & seconds.keys()
            for line, contexts in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    return Recording(seconds, lines)


def covering(site: Site, recording: Recording) -> list[str]:
    """Return the tests that run a site, fastest first.

    No test runs what runs when modules are imported: then they are the tests of what is around the
    site, of its module, or all of them.
    """
    lines = recording.lines.get(site.module, {})
    for first, last in (*site.around, (1, max(lines, default=1))):
        tests = {test for line in range(first, last + 1) for test in lines.get(line, ())}
        if tests:
            break
    else:
        tests = set(recording.seconds)
    return sorted(tests, key=lambda each: (recording.seconds[each], each))


def rounds(
    tests: Sequence[str], recording: Recording, most_s: float
) -> Iterator[tuple[list[str], float]]:
    """Return tests by and by with the time they take [s], each round about as long as all before.

    So a mutant that never ends is stopped early. At least one test, at most a time in all.
    """
    batch: list[str] = []
    before = until = 0.0
    for test in tests:
        if until and until + recording.seconds[test] > most_s:
            break
        batch.append(test)
        until += recording.seconds[test]
        if until > max(FIRST_S, 2 * before):
            yield batch, until - before
            batch, before = [], until
    if batch:
        yield batch, until - before


def judge(mutant: Mutant, site: Site, recording: Recording, args: argparse.Namespace) -> Verdict:
    """Run tests on a mutant until one fails."""
    original, text = (ROOT / site.module).read_text(), mutated(site)
    covers = covering(site, recording)
    outcome, killer, count = SURVIVED, "", 0
    began = time.perf_counter()
    path = Path(site.module)
    path.write_text(text)
    try:
        if not _compiled(path):
            outcome, killer = KILLED, "the compiler"
        for tests, took_s in rounds(covers, recording, args.most_s) if outcome == SURVIVED else ():
            count += len(tests)
            limit_s = START_S + round(TIMES * took_s)
            passed, output = _selected(tests, f"-x {args.pytest}", limit_s)
            if not passed:
                outcome, killer = _ending(output)
                break
        else:
            if outcome == SURVIVED and count < len(covers):
                outcome = UNFINISHED
    finally:
        shutil.copy2(ROOT / site.module, path)  # its time, too: what Python has compiled stays
        for made in path.parent.glob(f"{path.stem}.*.so"):
            shutil.copy2(ROOT / made, made)
        Path("build", "cython", path).with_suffix(".c").unlink(missing_ok=True)  # the mutant's
    seconds = round(time.perf_counter() - began, 1)
    lines = original.splitlines(), text.splitlines()
    diff = unified_diff(*lines, f"a/{site.module}", f"b/{site.module}", lineterm="")
    return Verdict(mutant, outcome, count, len(covers), seconds, killer, "\n".join(diff))


def _compiled(path: Path) -> bool:
    """Compile a mutant whose module is compiled; tell whether that was possible."""
    if not list(path.parent.glob(f"{path.stem}.*.so")):
        return True
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode == 0 and "failed" not in done.stderr  # the modules are optional


def _ending(output: str) -> tuple[str, str]:
    """Return why tests did not end well, and the first that failed."""
    failed = _failed(output)
    if failed:
        return KILLED, failed[0]
    if "no tests ran" in output:
        return UNCLEAR, ""  # they have other names
    return LIMIT, ""  # whoever is stopped says nothing


def failing(tests: set[str], options: str) -> list[str]:
    """Return those tests that fail on the code as it is."""
    cases = sorted(test for test in tests if "::" in test)  # the others are files
    return _failed(_selected(cases, options, None)[1]) if cases else []


def _selected(tests: Sequence[str], options: str, limit_s: int | None) -> tuple[bool, str]:
    Path("tests.txt").write_text("\n".join(tests))
    return _pytest(f"{options} @tests.txt", limit_s)


def _pytest(arguments: str, limit_s: int | None) -> tuple[bool, str]:
    limits = f"prlimit --cpu={limit_s or 'unlimited'} --as={MEMORY}"
    outcome, output = run_tests(f"{limits} {PYTEST} {arguments}", limit_s and WAIT * limit_s)
    if outcome is TestOutcome.INCOMPETENT:
        raise RuntimeError(output)
    return outcome is TestOutcome.SURVIVED, output


def _failed(output: str) -> list[str]:
    """Return the tests, or files of tests, that failed."""
    lines = [line.partition(" ") for line in output.splitlines()]
    return [rest.split(" - ")[0] for word, _, rest in lines if word in {"FAILED", "ERROR"}]


if __name__ == "__main__":
    main()
