cimport cython
from solver.fusion.general.annealing.changes cimport PlanChanges
from solver.fusion.general.annealing.plan cimport AnnealedPlan
from solver.fusion.general.annealing.problem cimport AnnealingProblem

cdef class Cuts(PlanChanges):
    @cython.locals(here=AnnealedPlan, there=AnnealedPlan, place=int, size="long long", part="long long", other=int,
                   target=int)
    cdef bint cut(self, int c, int launch) noexcept
    @cython.locals(here=AnnealedPlan, problem=AnnealingProblem, tensor=int, lane=int, element="long long", draw=int,
                   part="long long", k=int, reach=int, ahead=int, other=int, room=double)
    cdef long long _share(self, int c, int launch, long long most) noexcept
    @cython.locals(problem=AnnealingProblem, part="long long")
    cdef long long _fitting(self, int lane, double room, long long most, long long element) noexcept
    cdef long long _fits(self, int lane, double room, long long most, long long element) noexcept
    @cython.locals(here=AnnealedPlan, there=AnnealedPlan, b=int, skip=int, other=int, k=int, part="long long",
                   both="long long")
    cdef bint part(self, int c, int launch) noexcept
    @cython.locals(here=AnnealedPlan, there=AnnealedPlan, problem=AnnealingProblem, place=int, reach=int, free=double,
                   other=int, b=int, size="long long", i=int, room=double, part="long long")
    cdef bint fill(self, int c, int launch) noexcept
    @cython.locals(here=AnnealedPlan, there=AnnealedPlan, problem=AnnealingProblem, place=int, release=double, k=int,
                   other=int, b=int, size="long long", i=int, room=double, part="long long",
                   rest=int)
    cdef bint preempt(self, int c, int launch) noexcept
