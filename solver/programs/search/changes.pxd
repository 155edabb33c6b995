cimport cython
from solver.programs.search.draft cimport ProgramDraft
from solver.programs.search.flat cimport Flat

cdef class UndoableDraft(ProgramDraft):
    cdef int[::1] saved, moved, marked
    cdef int mark, low, high, old_length
    cdef list old_buckets
    cdef long long cutoff

    cpdef void begin(self)
    @cython.locals(k=int)
    cdef void keep(self, int low, int high) noexcept
    @cython.locals(k=int, item=int)
    cpdef void take_back(self)
    @cython.locals(flat=Flat, c=int)
    cdef void _mark_before(self, int item) noexcept
    @cython.locals(flat=Flat, c=int)
    cdef void _mark_behind(self, int item) noexcept
    @cython.locals(flat=Flat, e=int, j=int, c=int)
    cdef void _mark_preds(self, int i) noexcept
    @cython.locals(flat=Flat, e=int, j=int, c=int)
    cdef void _mark_succs(self, int i) noexcept
    @cython.locals(own=int, behind=int, count=int, k=int, other=int)
    cpdef int pull(self, int item, int to) noexcept
    @cython.locals(own=int, before=int, count=int, k=int, other=int)
    cpdef int push(self, int item, int to) noexcept
    cpdef void save_bucket(self, int b)
    @cython.locals(flat=Flat, first=int, second=int, low=int, k=int)
    cpdef bint merge(self, int a, int b)
    @cython.locals(flat=Flat, at=int, b=int, k=int)
    cpdef int split(self, int a, list leaving)

    @cython.locals(flat=Flat, at=int, k=int)
    cpdef void hold(self, int b, int steps)
    @cython.locals(item=int, at=int, k=int)
    cpdef bint let_go(self, int b)
