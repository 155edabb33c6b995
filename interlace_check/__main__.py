"""Say whether a certificate proves a plan: exit 0 if so, 1 with the line that fails, 2 unread."""

import json
import sys
from fractions import Fraction
from pathlib import Path

from interlace_check import NotCovered, Refuted
from interlace_check.bound import proven
from interlace_check.graph import executed, work_of

#: The largest share of a time up to which two times may count as the same.
_MOST = Fraction(1, 10**6)


def check(request: dict, plan: dict, certificate: dict) -> str:  # type: ignore[type-arg]
    """Return what is proven, in words; all numbers are fractions."""
    if certificate.get("format") != "interlace certificate 1":
        raise NotCovered("a file that is no certificate")
    if "no_portable_certificate" in certificate:
        raise NotCovered(f"no portable certificate: {certificate['no_portable_certificate']}")
    tolerance = Fraction(certificate["tolerance"])
    if not 0 <= tolerance <= _MOST:
        raise Refuted(f"/tolerance: above {float(_MOST)}")
    work = work_of(request)
    time, claimed = executed(work, plan, tolerance), Fraction(plan["iteration_time_us"])
    if abs(time - claimed) > tolerance * time:
        raise Refuted(f"/iteration_time_us: the launches take {float(time)} us")
    bound, least = proven(work, certificate["lines"], time), Fraction(plan["lower_bound_us"])
    if least > bound * (1 + tolerance):
        raise Refuted(f"/lower_bound_us: {float(bound)} us is proven")
    best = Fraction(plan.get("best_time_us") or claimed)
    reached = {"optimal": time, "within": best}.get(plan["status"])
    if reached is not None and reached > bound * (1 + tolerance):
        raise Refuted(f"/status: nothing below {float(bound)} us is ruled out")
    return f"yes: the plan takes {float(time):.3f} us, and no plan less than {float(bound):.3f} us"


def main(paths: list[str]) -> int:
    """Read three files of JSON and say what they prove."""
    try:
        texts = [json.loads(Path(path).read_text(), parse_float=Fraction) for path in paths]
        print(f"{check(*texts)} ({texts[1]['status']})")
    except Refuted as refuted:
        print(f"no: {refuted}")
        return 1
    except (NotCovered, OSError, LookupError, TypeError, ValueError, AttributeError) as unread:
        print(f"not checked: {unread!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
