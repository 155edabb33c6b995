cimport cython
from solver.fusion.general.annealing.cuts cimport Cuts
from solver.fusion.general.annealing.plan cimport AnnealedPlan
from solver.fusion.general.annealing.problem cimport AnnealingProblem

cdef long long _LUCK
cdef int _TRIES

cdef class LaunchThinner(Cuts):
    cdef double[::1] luck
    cdef readonly int best_count, count

    cpdef void begin(self, AnnealedPlan plan) noexcept
    cdef double _execute(self, AnnealedPlan plan, double limit) noexcept
    @cython.locals(count=int, c=int)
    cdef int launches_of(self, AnnealedPlan plan) noexcept
    @cython.locals(found=int, _="long long", count=int, value=double)
    cpdef int run(self, long long moves, double temperature, double limit) noexcept
    @cython.locals(here=AnnealedPlan, _=int, launch=int, c=int, kind=int, done=bint)
    cdef bint _change(self) noexcept
