cimport cython
from solver.programs.search.draft cimport ProgramDraft
from solver.programs.search.flat cimport Flat

cdef class ListScheduler:
    cdef readonly ProgramDraft draft
    cdef readonly double[::1] urgency, at
    cdef readonly int[::1] rank
    cdef double[::1] over, free_at, copy_in, copy_out
    cdef int[::1] waiting, ready, able, sequence, ranked, placed, finished
    cdef int[::1] before_at, before, behind_at, behind
    cdef int ready_count, able_count, length, left, come_to
    cdef double clock

    @cython.locals(flat=Flat, c=int, i=int, total=int, available=double, time=double)
    cpdef double make(self, int window, bint backwards=*)
    cdef void _face(self, bint backwards)
    @cython.locals(draft=ProgramDraft, flat=Flat, ops=int, c=int, i=int, b=int)
    cdef void _begin(self) noexcept
    @cython.locals(best=int, first=double, urgency=double, k=int, i=int, at=double)
    cdef int _choose(self, int most) noexcept
    @cython.locals(draft=ProgramDraft, flat=Flat, at=double, e=int, c=int, item=int)
    cdef double _available(self, int i) noexcept
    @cython.locals(draft=ProgramDraft, flat=Flat, e=int, c=int, b=int, item=int)
    cdef void _await(self, int i) noexcept
    @cython.locals(k=int)
    cdef void _take(self, int i) noexcept
    @cython.locals(
        draft=ProgramDraft, flat=Flat, best=int, at=int, urgency=double, k=int, b=int, value=double,
    )
    cdef bint _ask(self, double until) noexcept
    @cython.locals(draft=ProgramDraft, flat=Flat, item=int, c=int, channel=int, start=double)
    cdef void _launch(self, int b) noexcept
    @cython.locals(draft=ProgramDraft, flat=Flat, e=int, j=int, c=int, b=int)
    cdef void _release(self, int i) noexcept
    @cython.locals(draft=ProgramDraft, flat=Flat, k=int, item=int, b=int)
    cdef void _write(self, bint backwards) noexcept
