cimport cython

cdef int _AFTER, _BEFORE, _BOTH, _TRIED


cdef class Recursion:
    cdef double[::1] cells, x, y, best_x, best_y, tried
    cdef int[::1] origin, side, first, best_origin, best_side, tried_label, tried_group
    cdef int count, prefixes
    cdef double startup, to_beat, rest

    @cython.locals(
        group_time="double[::1]", group_work="double[::1]", cell=int, j=int, label=int,
        ready=double)
    cpdef void extend(
        self, double release, double tail, object times, object work, double rest) except *

    @cython.locals(
        tried="double[::1]", count=int, j=int, label=int, total=double, place=int, cell=int,
        ready=double, carried=double, y=double)
    cdef void split(self, double release, double tail, double[::1] work) noexcept

    @cython.locals(low=int, high=int, middle=int)
    cdef void offer(self, double x, double y, int origin, int side) noexcept

    @cython.locals(at=int, least=double, cell=int)
    cdef void keep(self) noexcept

    @cython.locals(
        group_time="double[::1]", best=double, at=int, j=int, label=int, value=double)
    cpdef tuple close(self, double release, double tail, object times)

    @cython.locals(j=int)
    cpdef list trace(self, int label)
