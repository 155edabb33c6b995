cimport cython

from solver.simulation.kernel.senders cimport Queue

cdef int _NONE


cdef class CreditQueue(Queue):
    cdef int[::1] next, issued
    cdef double[::1] since
    cdef int head, tail
    cdef public long long wire
    cdef long long credit, flying
    cdef double now

    @cython.locals(unit=int)
    cpdef void restart(self)

    cpdef void release(self, int tensor, double now)

    @cython.locals(unit=int)
    cpdef int take(self, double now)

    cpdef void settle(self, double now)

    @cython.locals(k=int, unit=int, part=int)
    cpdef list take_issued(self)

    cdef void _until(self, double now)

    @cython.locals(unit=int, size=cython.longlong)
    cdef void _issue(self)
