cimport cython

from solver.simulation.kernel.heap cimport Heap

cdef int _NONE


cdef class Units:
    cdef public object units
    cdef public int tensors
    cdef readonly int[::1] channel
    cdef int[::1] members, begin, first, place, before, owner, missing, part
    cdef long long[::1] size, bytes, left

    @cython.locals(unit=int, place=int, tensor=int)
    cdef _find_places(self, int[::1] channel, long long[::1] sizes)

    @cython.locals(unit=int)
    cpdef void restart(self)


cdef class Sender:
    cdef public Units units

    cpdef void restart(self)

    cpdef void release(self, int tensor, double now)

    @cython.locals(units=Units, place=int, unit=int)
    cdef void _count_in(self, int tensor, double now)

    cpdef void ready(self, int unit, double now)
    cpdef int take(self, double now)


cdef class Queue(Sender):
    cdef double[::1] ranks
    cdef double turn
    cdef Heap heap

    cpdef void restart(self)
    cpdef void ready(self, int unit, double now)

    @cython.locals(unit=int)
    cpdef int take(self, double now)


cdef class InOrder(Sender):
    cdef int[::1] order
    cdef int count, at

    cpdef void restart(self)

    @cython.locals(unit=int)
    cpdef int take(self, double now)


