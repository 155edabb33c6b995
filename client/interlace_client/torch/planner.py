"""Who makes plans: a service, or the command on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from interlace_client.client import Client
from interlace_client.errors import Cancelled, InterlaceError, ProblemError, WaitTimeout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What runs today, with its barrier.
_TODAY = {"policy": "ddp", "barrier": True}
#: How many times its limit of CPU time a search may take on the clock, and how much longer than
#: that the whole of a plan [s].
_WALL, _MORE_S = 2, 50
#: How many lines a failing command is quoted with.
_QUOTED = 5


class NoAnswer(InterlaceError):
    """The planner gave no answer; the sentence says why."""


@dataclass(frozen=True)
class Planner:
    """Makes plans, in another process: this one goes on meanwhile.

    Parameters
    ----------
    url
        Of an Interlace service, such as ``http://planner:8000``. None has the command ``interlace``
        make them on this machine: the one beside this Python, else the one on the path.
    time_limit_s
        The CPU time that it may search for a better plan [s], which seldom takes that long. The
        whole may take twice that on the clock, and 50 s more.
    """

    url: str | None = None
    time_limit_s: float = 60

    def plan(
        self, graph: Mapping[str, Any], cluster: Mapping[str, Any], *, barrier: bool = False
    ) -> dict[str, Any]:
        """Plan an iteration; return the answer of ``POST /v1/plans``.

        Its ``headline`` compares with DistributedDataParallel.

        Parameters
        ----------
        graph, cluster
            As the service takes them, such as ``graph`` of a recording and ``cluster`` of a
            calibration.
        barrier
            Whether the optimizer's step waits for all buckets.

        Raises
        ------
        NoAnswer
            With the reason: nobody to ask, no time left, or every fault of the request.
        """
        options = {"barrier": barrier, "baselines": [_TODAY], "time_limit_s": self.time_limit_s}
        if self.url is None:
            return _printed("plan", {"graph": graph, "cluster": cluster, "options": options}, self)
        return _answered(
            self, lambda client, **how: client.plan(graph, cluster=cluster, options=options, **how)
        )

    def program(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Plan a compiled graph; return the answer of ``POST /v1/plans``, which has a ``program``.

        Parameters
        ----------
        request
            As ``request`` of a captured graph.

        Raises
        ------
        NoAnswer
            As of :meth:`plan`.
        """
        options = {**request.get("options", {}), "time_limit_s": self.time_limit_s}
        if self.url is None:
            return _printed("plan", {**request, "options": options}, self)
        fields = {"cluster": request["cluster"], "options": options}
        return _answered(self, lambda client, **how: client.plan(request["graph"], **fields, **how))

    def simulate(
        self,
        graph: Mapping[str, Any],
        cluster: Mapping[str, Any],
        plan: Mapping[str, Any],
        *,
        barrier: bool = False,
    ) -> float:
        """Return how long an iteration takes under a plan that is there [us].

        Parameters
        ----------
        graph, cluster, barrier
            As of :meth:`plan`; they need not be those that the plan was made for.
        plan
            An answer of :meth:`plan`.

        Raises
        ------
        NoAnswer
            As of :meth:`plan`.
        """
        if self.url is None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "plan.json"
                sent = {field: plan[field] for field in ("buckets", "schedule")}
                path.write_text(json.dumps(sent), encoding="utf-8")  # its own cluster would win
                flags = ["--plan", str(path), *(["--barrier"] if barrier else [])]
                answer = _printed("simulate", {"graph": graph, "cluster": cluster}, self, flags)
        else:
            fields = {"cluster": cluster, "plan": plan, "barrier": barrier}
            answer = _answered(self, lambda client, **how: client.simulate(graph, **fields, **how))
        return float(answer["iteration_time_us"])


def _answered(planner: Planner, ask: Callable[..., Any]) -> dict[str, Any]:
    """Ask the service; where the time is up, the best so far will do."""
    limit_s = _WALL * planner.time_limit_s + _MORE_S
    try:
        with Client(planner.url or "") as client:
            raw: dict[str, Any] = ask(client, timeout_s=limit_s, cancel_on_timeout=True).raw
            return raw
    except (WaitTimeout, Cancelled) as error:
        if error.result is None:
            raise NoAnswer(f"{planner.url} gave no plan: {error}", error.job_id) from error
        best: dict[str, Any] = error.result.raw
        return best
    except ProblemError as error:
        faults = [f"{fault.pointer}: {fault.detail}" for fault in error.faults]
        reason = " ".join(faults) or error.detail
        raise NoAnswer(f"{planner.url} refuses: {reason}", error.job_id) from error
    except (InterlaceError, ValueError) as error:
        raise NoAnswer(f"{planner.url} gave no answer: {error}") from error


def _printed(
    verb: str, request: Mapping[str, Any], planner: Planner, flags: Sequence[str] = ()
) -> dict[str, Any]:
    """Run the command on a request, and read what it prints."""
    here = Path(sys.executable).parent
    command = shutil.which("interlace", path=str(here)) or shutil.which("interlace")
    if command is None:
        raise NoAnswer(
            f"The command interlace is neither in {here} nor on the path: install Interlace there, "
            "or name a service, as Planner('http://planner:8000')."
        )
    limit_s = _WALL * planner.time_limit_s + _MORE_S
    try:
        done = subprocess.run(  # noqa: S603 - a program of this machine's owner
            [command, verb, "-", "--json", *flags],
            input=json.dumps(request),
            capture_output=True,
            check=False,
            text=True,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"{command} {verb} did not end within {limit_s:g} s.") from error
    except OSError as error:
        raise NoAnswer(f"{command} cannot be run: {error}.") from error
    if done.returncode:
        said = done.stderr.strip().splitlines()[-_QUOTED:]
        reason = " ".join(line.replace("interlace: standard input ", "") for line in said)
        raise NoAnswer(f"{command} {verb} failed: {reason or f'exit code {done.returncode}'}")
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise NoAnswer(f"{command} {verb} printed no JSON: {error}.") from error
    return answer
