"""Say whether a certificate proves a plan: exit 0 if so, 1 with the line that fails, 2 unread."""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from interlace_check import NotCovered, Refuted
from interlace_check.bound import proven
from interlace_check.graph import executed, work_of

#: What is not as a request, a plan or a certificate is written.
_UNREAD = (
    *(NotCovered, OSError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError),
    AttributeError,
)


def check(request: dict[str, Any], plan: dict[str, Any], certificate: dict[str, Any]) -> str:
    """Return what is proven, in words; all numbers are fractions."""
    if "lines" not in certificate:
        raise NotCovered(f"no portable certificate: {certificate['no_portable_certificate']}")
    tolerance = Fraction(certificate["tolerance"])  # up to which two times are the same
    if not 0 <= tolerance <= Fraction(1, 10**6):
        raise Refuted("/tolerance of the certificate: above 1e-6")
    work = work_of(request)
    time = executed(work, plan, tolerance)
    bound = proven(work, certificate["lines"], time)
    if abs(time - plan["iteration_time_us"]) > tolerance * time:
        raise Refuted(f"/iteration_time_us: the launches take {float(time)} us")
    reach = bound * (1 + tolerance)
    if plan["lower_bound_us"] > reach or (plan["status"] == "optimal" and time > reach):
        raise Refuted(f"/lower_bound_us, /status: {float(bound)} us is proven")
    gap = plan["iteration_time_us"] / Fraction(plan["lower_bound_us"]) - 1
    if plan.get("gap") is not None and abs(plan["gap"] - gap) > Fraction(1, 10**6):
        raise Refuted(f"/gap: {float(gap)} follows from the times")
    longer = Fraction((request.get("options") or {}).get("launch_tolerance", Fraction(1, 1000)))
    if plan["status"] == "within" and time > reach * (1 + longer):
        raise Refuted(f"/status: the plan takes more than {float(longer)} longer")
    return f"yes: the plan takes {float(time):.3f} us, and no plan less than {float(bound):.3f} us"


def number(text: str) -> Fraction:
    """Read a number exactly; one with a long exponent would fill the memory."""
    if abs(int(text.lower().partition("e")[2] or 0)) > 400:  # noqa: PLR2004 - no float has more
        raise ValueError(f"{text[:20]} is no number of a plan")
    return Fraction(text)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object, whose names must differ: of two values others may take the first."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError(f"a name is there twice among {sorted(found)[:9]}")
    return found


def main(paths: list[str]) -> int:
    """Read three files of JSON and say what they prove."""
    exact: dict[str, Any] = {"parse_float": number, "object_pairs_hook": once}
    exact["parse_constant"] = number  # which refuses NaN
    try:
        texts = [json.loads(Path(path).read_text(), **exact) for path in paths]
        print(f"{check(*texts)} ({texts[1]['status']})")
    except Refuted as refuted:
        print(f"no: {refuted}")
        return 1
    except _UNREAD as unread:
        print(f"not checked: {unread!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
