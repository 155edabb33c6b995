import cython


cdef class TimeDirection


@cython.final
cdef class ChannelWork:
    cdef public int nodes, tensors, channels, lanes, turn
    cdef public double steps, shares, launches, losses
    cdef public int[::1] node, channel, lane, tensor, first, by_start, held, count, level, seen, touched
    cdef public int[::1] kept, queue, clash_with
    cdef public double[::1] least, startup, share, reach, lost
    cdef public double[::1] clash, clash_latest, clash_startup, far, ends, sums

    @cython.locals(lane=cython.int)
    cdef void clear(self)

    @cython.locals(
        lane=cython.int, at=cython.int, level=cython.int, above=cython.int, middle=cython.int,
        j=cython.int, other=cython.int, loss=double,
    )
    cdef void add(self, TimeDirection side, int i, double start, double latest)

    cdef double taken(self, double extra, double clashing)



cdef class TimeDirection:
    cdef public int width
    cdef public int[::1] order, pred_from, pred, alike_from, alike, link_from, link, row, by_end
    cdef public unsigned char[::1] bits
    cdef public double[::1] toll, start, end


@cython.locals(
    changed=cython.int, c=cython.int, at=cython.int, v=cython.int, k=cython.int, p=cython.int,
    touched=cython.int, least=double, left=double,
)
cpdef int pass_on(ChannelWork work, TimeDirection side, TimeDirection back, double most, double slack, int every)


@cython.locals(i=cython.int, c=cython.int, k=cython.int)
cdef void _insert(ChannelWork work, TimeDirection side, int v)


@cython.locals(best=double, k=cython.int, i=cython.int, v=cython.int)
cdef double _carried(
    ChannelWork work, TimeDirection side, TimeDirection back, double most, double slack, int c, int row
)


@cython.locals(
    c=cython.int, at=cython.int, v=cython.int, k=cython.int, p=cython.int, other=cython.int,
    best=double, reach=double,
)
cpdef void paths(ChannelWork work, TimeDirection side, int begin, int last, int i)


@cython.locals(at=cython.int)
cpdef void forget(ChannelWork work, TimeDirection side, int begin, int last)
