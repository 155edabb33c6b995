cimport cython
from solver.fusion.general.annealing.cuts cimport Cuts
from solver.fusion.general.annealing.plan cimport AnnealedPlan
from solver.fusion.general.annealing.problem cimport AnnealingProblem

cdef long long _LUCK, _ANYWHERE
cdef int _TRIES
cdef double _SAME

cdef class PlanAnnealer(Cuts):
    cdef double[::1] luck
    cdef readonly int[::1] path, waited
    cdef readonly int steps
    cdef readonly bint is_traced

    @cython.locals(found=int, _="long long", limit=double, value=double)
    cpdef int run(self, long long moves, double temperature, double enough) noexcept
    cpdef void begin(self, AnnealedPlan plan) noexcept
    @cython.locals(plan=AnnealedPlan, problem=AnnealingProblem, k=int, i=int, c=int, launch=int)
    cpdef void trace(self) noexcept
    @cython.locals(plan=AnnealedPlan, launch=int, waits=bint, b=int)
    cdef int _back(self, int at) noexcept
    @cython.locals(plan=AnnealedPlan, i=int, latest=int)
    cdef int _releasing(self, int b) noexcept
    @cython.locals(problem=AnnealingProblem, found=int, e=int, j=int)
    cdef int _deciding(self, int k) noexcept
    @cython.locals(here=AnnealedPlan, _=int, launch=int, waits=int, step=int, c=int, kind=int, done=bint)
    cdef bint _change(self) noexcept
