cimport cython
from solver.fusion.general.annealing.plan cimport AnnealedPlan
from solver.fusion.general.annealing.problem cimport AnnealingProblem

cdef long long _WORD

cdef class PlanChanges:
    cdef readonly AnnealingProblem problem
    cdef readonly AnnealedPlan here, there, best
    cdef double[::1] urgency
    cdef long long[::1] piece
    cdef int[::1] piece_from
    cdef bint fuse
    cdef long long state

    @cython.locals(state="long long")
    cpdef int below(self, long long count) noexcept
    @cython.locals(here=AnnealedPlan, total=int, c=int, k=int)
    cdef int any_launch(self) noexcept
    @cython.locals(reach=int)
    cdef int distance(self, int most) noexcept
    @cython.locals(there=AnnealedPlan, count=int, source=int, target=int, draw=int)
    cdef bint reorder(self, int c, int place, int waits) noexcept
    @cython.locals(here=AnnealedPlan, release=double)
    cdef int _earliest(self, int c, int place) noexcept
    @cython.locals(here=AnnealedPlan, problem=AnnealingProblem, b=int, lane=int, draw=int, i=int, other=int,
                   skip=int, step=int, k=int, of_other=int)
    cdef int near(self, int c, int launch) noexcept
    @cython.locals(here=AnnealedPlan, there=AnnealedPlan, other=int, a=int, b=int)
    cdef bint merge(self, int c, int launch) noexcept
    @cython.locals(there=AnnealedPlan, a=int, b=int, place=int, other=int, draw=int)
    cdef bint split(self, int c, int launch) noexcept
    @cython.locals(there=AnnealedPlan, other=int, a=int, b=int)
    cdef bint transfer(self, int c, int launch) noexcept
    @cython.locals(there=AnnealedPlan, skip=int, pivot=int, how=int, i=int)
    cdef bint _give_some(self, int a, int b) noexcept
    @cython.locals(there=AnnealedPlan, problem=AnnealingProblem, i=int, j=int, end_a=int,
                   end_b=int, moved=int, goes=bint)
    cdef void _give(self, int a, int b, int pivot, int how) noexcept


cdef bint _goes(int how, int i, int pivot, double urgency, double least) noexcept
