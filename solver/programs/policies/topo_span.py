"""Overlap scheduling of buckets that reach over so many ops at most."""

from solver.programs.policies.inductor import inductor
from solver.programs.policies.overlap_schedule import GIB
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program


def topo_span(
    problem: ProgramProblem, *, span: int = 1500, in_flight_bytes: int = 2 * GIB, ahead: int = 100
) -> Program:
    """Return the program of inductor's overlap schedule with buckets bounded in their span.

    What parameters send is fused in order up to a size that uses the network well, however much
    else stands between, as long as a bucket reaches over ``span`` ops at most: what is fused from
    far apart pulls the compute before it together. Then ops are scheduled as by
    :func:`solver.programs.policies.inductor.inductor`, and nothing is fused after.

    Parameters
    ----------
    span
        Ops from the first to the last of a bucket in the order of the graph, at most.
    in_flight_bytes
        Bytes of launches not waited for, at most.
    ahead
        How many ops of weight, and launches, are looked at.

    References
    ----------
    .. [1] meta-pytorch/autoparallel, autoparallel/graph_passes/auto_bucketing.py, ``max_topo_span``
           of ``aten_autobucketing_config``; the defaults are theirs.
    """
    return inductor(
        problem,
        pre_bucketing=True,
        bucketing=False,
        in_flight_bytes=in_flight_bytes,
        ahead=ahead,
        span=span,
    )
