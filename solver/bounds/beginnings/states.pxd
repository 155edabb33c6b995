import cython


cdef class LaunchStates:
    cdef public int count, channels, rows
    cdef public double most
    cdef public double[::1] startup, work, tail, between, longest, credit, now, release, started
    cdef public double[::1] head, end, late
    cdef public int[::1] channel, lane, before, order, above, on, left, many, begun, sent, fresh, sorted

    @cython.locals(at=cython.int, k=cython.int)
    cdef tuple _key(self, int row)

    @cython.locals(at=cython.int, bucket=cython.int, c=cython.int, other=cython.int, rest=double)
    cdef double _rest(self, int row, int k)

    @cython.locals(k=cython.int, has_begun=cython.bint)
    cdef bint _has_begun(self, int row, int c)

    @cython.locals(at=cython.int, i=cython.int, j=cython.int, path=double)
    cdef bint _is_sent(self, int row, int c, int bucket, double end)

    @cython.locals(at=cython.int, k=cython.int)
    cdef void _begin(self, int row, int c, int bucket)

    @cython.locals(at=cython.int, k=cython.int)
    cdef void _wait(self, int row, int c, double start)

    @cython.locals(k=cython.int)
    cdef void _copy(self, int row)

    @cython.locals(i=cython.int, work=double)
    cdef double _work_of(self, int bucket)

    @cython.locals(i=cython.int, most=double)
    cdef double _most(self, double[::1] paths, int first, int step, int bucket)

    @cython.locals(i=cython.int)
    cdef int _first(self, int bucket)
