import cython

from solver.bounds.windows.time_windows cimport TimeDirection, ChannelWork


@cython.locals(
    changed=cython.int, begin=cython.int, past=cython.int, a=cython.int, found=cython.int,
    first=double,
)
cpdef int crowd(ChannelWork work, TimeDirection side, TimeDirection back, double most, double slack, int c)


@cython.locals(
    changed=cython.int, b=cython.int, i=cython.int, v=cython.int, extra=double, clashing=double, tight=double,
    apart=double, until=double, room=double, due=double, latest=double, value=double,
)
cdef int _windows(
    ChannelWork work, TimeDirection side, TimeDirection back, double most, double slack, int begin, int past, double first
)


@cython.locals(lane=cython.int, level=cython.int, last=double)
cdef double _new_launch(
    ChannelWork work, TimeDirection side, int i, double extra, double clashing, double until, double slack
)


@cython.locals(a=cython.int, b=cython.int, i=cython.int, tail=double)
cdef void _sort(ChannelWork work, TimeDirection side, TimeDirection back, int begin, int past)


@cython.locals(
    a=cython.int, b=cython.int, i=cython.int, k=cython.int, u=cython.int, v=cython.int,
    start=double, due=double, latest=double, other=double, room=double, meet=double,
)
cdef void _clashes(
    ChannelWork work, TimeDirection side, TimeDirection back, double most, double slack, int begin, int past
)
