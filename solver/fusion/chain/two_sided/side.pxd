cimport cython


cdef int _CELLS


cdef class ChainSide:
    cdef double[::1] head, total, own, best
    cdef double startup, low, step

    @cython.locals(at=int, j=int, cell=int, floor=double, work=double, value=double)
    cpdef void fill(self) except *

    @cython.locals(place=int)
    cdef int cell(self, double level) noexcept

    @cython.locals(
        total="double[::1]", own="double[::1]", a=double, low=double, step=double, left=double,
        least=double, rest=double, value=double, j=int, place=int)
    cdef double least(self, int count, double level, double floor) noexcept
