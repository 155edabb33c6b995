cimport cython
from solver.programs.search.draft cimport ProgramDraft
from solver.programs.search.flat cimport Flat
from solver.programs.search.resumed cimport ResumedDraft

cdef int _LUCK, _ANYWHERE, _AT_PEAK, _EARLIER, _BEHIND, _OVERTAKE, _FILL, _SPLIT, _MOVE_ON
cdef double _SHORT
cdef double[::1] _LUCK_LOGS

cdef class ProgramAnnealer(ResumedDraft):
    cdef unsigned long long state
    cdef bint is_tight
    cdef int[::1] waits
    cdef readonly int wait_count
    cdef int peak_place
    cdef readonly double energy, best_value
    cdef public double weight, lasting
    cdef public int reach
    cdef readonly long long moves, taken, least_peak
    cdef readonly ProgramDraft best

    @cython.locals(x=cython.ulonglong)
    cdef int draw(self, int below) noexcept
    @cython.locals(flat=Flat, c=int, k=int, item=int, e=int, last=int)
    cdef void look(self) noexcept
    @cython.locals(end=double)
    cdef void _wait_for(self, int b) noexcept
    @cython.locals(cooling=double, heat=double, most=double, time=double)
    cpdef void run(self, int changes, double hot, double cold)
    cdef double penalty(self)
    cpdef void offer(self)
    @cython.locals(flat=Flat, kind=int, k=int, step=int, at=int)
    cdef bint change(self)
    cdef bint _move(self, int k, int to)
    @cython.locals(at=int, need=int)
    cdef bint _change_at(self, int b, int kind, int step)
    @cython.locals(flat=Flat, channel=int, k=int, other=int)
    cdef bint _overtake(self, int b, int at)
    @cython.locals(flat=Flat, need=int, c=int, i=int, e=int, j=int, d=int)
    cdef int _needed_at(self, int b) noexcept
    @cython.locals(flat=Flat, k=int, b=int, other=int)
    cdef bint _rebucket(self, int kind)
    cdef bint _split(self, int b)
    @cython.locals(flat=Flat, lane=int, j=int, other=int)
    cdef int _following(self, int b, int k, int skip) noexcept
