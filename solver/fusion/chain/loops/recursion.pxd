cimport cython

cdef int _AFTER, _BEFORE, _BOTH, _TRIED


cdef class Recursion:
    cdef double[::1] cells, x, y, best_x, best_y, tried, tried_ready, tried_work
    cdef int[::1] origin, side, cell, first, best_origin, best_side, tried_label
    cdef int count, prefixes
    cdef double startup, to_beat, rest

    @cython.locals(group_time="double[::1]", group_work="double[::1]", cell=int)
    cpdef void extend(
        self, double release, double tail, object times, object work, double rest) except *

    @cython.locals(
        cells="double[::1]", x="double[::1]", first="int[::1]", cell=int, j=int, last=int,
        label=int, sent=double)
    cdef void send_before(self, double release, double[::1] times) noexcept

    @cython.locals(
        y="double[::1]", best_y="double[::1]", cell="int[::1]", first="int[::1]", j=int, label=int,
        at=int, time=double, own=double, sent=double)
    cdef void send_after(self, double tail, double[::1] times) noexcept

    @cython.locals(
        tried="double[::1]", cells="double[::1]", a=double, count=int, cell=int, place=int,
        end=double, carried=double, y=double)
    cdef void split(self, double release, double tail, double[::1] work) noexcept

    @cython.locals(
        x="double[::1]", y="double[::1]", tried="double[::1]", first="int[::1]", count=int, j=int,
        label=int, place=int, ready=double, total=double)
    cdef int promising(self, double release, double tail, double[::1] work) noexcept

    cdef void offer(self, double x, double y, int cell, int origin, int side) noexcept

    cdef void grow(self) except *

    @cython.locals(at=int, least=double, cell=int)
    cdef void keep(self) noexcept

    @cython.locals(
        group_time="double[::1]", best=double, at=int, j=int, label=int, value=double)
    cpdef tuple close(self, double release, double tail, object times)

    @cython.locals(j=int)
    cpdef list trace(self, int label)
