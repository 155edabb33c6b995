import cython

from solver.bounds.windows.time_windows cimport TimeDirection, ChannelWork


@cython.locals(
    count=cython.int, k=cython.int, i=cython.int, at=cython.int, t=cython.int, startup=double, due=double,
    last=double, shares=double,
)
cpdef bint is_late(ChannelWork work, TimeDirection side, TimeDirection back, double most, double slack, int c, int lane)


@cython.locals(
    ends="double[::1]", sums="double[::1]", queue="int[::1]", size=cython.int, waiting=cython.int,
    head=cython.int, tail=cython.int, k=cython.int, i=cython.int, v=cython.int, ready=double,
    least=double,
)
cdef double _end(
    ChannelWork work, TimeDirection side, TimeDirection back, double most, double due, double startup, int count
)
