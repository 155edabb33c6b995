cimport cython
from solver.programs.search.draft cimport ProgramDraft
from solver.programs.search.flat cimport Flat
from solver.programs.search.safe_memory cimport SafeMemory

cdef class Repair:
    cdef readonly Flat flat
    cdef readonly SafeMemory memory
    cdef int[::1] following, previous, bucket, follower, first, flying
    cdef int flying_count
    cdef double[::1] over, unpack, free_at
    cdef long long[::1] copies
    cdef double clock
    cdef list items, launched

    cpdef void make(self, ProgramDraft draft)
    @cython.locals(flat=Flat, end=int, at=int, k=int, item=int, c=int)
    cdef void _begin(self, ProgramDraft draft)
    @cython.locals(flat=Flat, end=int, item=int, looked=int, copies=cython.longlong)
    cdef bint _take_next(self)
    cdef bint _take_one_of(self, list members)
    @cython.locals(flat=Flat, c=int)
    cdef list _members(self, int item)
    @cython.locals(i=int)
    cdef bint _is_ready(self, list members)
    cdef long long _copies(self, list members)
    cdef bint _is_room(self, list members, long long copies)
    @cython.locals(k=int)
    cdef bint _wait_for_ended(self)
    @cython.locals(k=int, best=int)
    cdef bint _wait_early(self)
    @cython.locals(flat=Flat, b=int, j=int, c=int)
    cdef void _wait(self, int k)
    cdef void _go_on(self)
    cdef void _remove(self, int item)
    @cython.locals(flat=Flat, c=int, b=int, d=int)
    cdef void _take_out(self, int i)
    @cython.locals(flat=Flat, i=int, e=int, c=int, b=int, channel=int)
    cdef void _take(self, int item, list members)
    @cython.locals(k=int)
    cdef void _await(self, int b)
