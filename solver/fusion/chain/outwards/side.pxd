cimport cython


cdef int _CELLS


cdef class Side:
    cdef double[::1] head, total, own, best
    cdef double startup, low, step

    @cython.locals(at=int, j=int, cell=int, floor=double, work=double, value=double)
    cpdef void fill(self) except *

    @cython.locals(place=int)
    cdef int cell(self, double level) noexcept

    @cython.locals(left=double, least=double, rest=double, value=double, j=int)
    cdef double least(self, int count, double level, double floor) noexcept
