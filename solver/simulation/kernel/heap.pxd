cimport cython


cdef class Heap:
    cdef public int count
    cdef readonly double[::1] major, minor
    cdef readonly int[::1] item

    @cython.locals(at=int, above=int)
    cpdef void push(self, double major, double minor, int item)

    @cython.locals(last=int, at=int, below=int, other=int, major=double, minor=double, item=int)
    cpdef void pop(self)

    cdef bint _precedes(self, double major, double minor, int item, int at)
    cdef void _put(self, int at, double major, double minor, int item)


