cimport cython
from solver.programs.search.flat cimport Flat

cdef class SafeMemory:
    cdef readonly Flat flat
    cdef readonly int[::1] safe, turn, readers_at, readers, takes_time, is_kept, last, unended, issued
    cdef readonly long long[::1] high, more
    cdef readonly long long level
    cdef readonly int next

    @cython.locals(flat=Flat, b=int, begin=int, end=int, level=cython.longlong, k=int, i=int, e=int)
    cpdef void begin(self)
    @cython.locals(flat=Flat, e=int)
    cpdef bint is_ready(self, int i)
    @cython.locals(flat=Flat, level=cython.longlong, i=int)
    cpdef bint is_room(self, list members, long long copies)
    @cython.locals(flat=Flat, far=int, i=int, k=int, p=int, e=int, b=int, level=cython.longlong)
    cpdef bint is_safe(self, list members)
    @cython.locals(last=int, e=int, j=int)
    cdef int _last_but(self, int b, int i)
    @cython.locals(flat=Flat, p=int, e=int, b=int, k=int)
    cpdef void issue(self, int i)
    @cython.locals(flat=Flat, e=int, b=int)
    cpdef void end(self, int i)
    cpdef void hold(self, long long copies)
