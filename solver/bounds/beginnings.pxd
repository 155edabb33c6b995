import cython


cdef class Beginnings:
    cdef public int count, channels, rows, looks
    cdef public double most
    cdef public object is_over
    cdef public double[::1] startup, work, tail, between, longest, credit, now, release, started
    cdef public double[::1] head, end, late
    cdef public int[::1] channel, lane, before, order, above, on, left, many, begun, sent, fresh, sorted
    cdef public dict known
    cdef public long remembered

    cpdef bint some_end(self)

    @cython.locals(key=tuple, figures=tuple, known=list)
    cdef bint _ends(self, int row)

    @cython.locals(at=cython.int, k=cython.int)
    cdef tuple _key(self, int row)

    @cython.locals(at=cython.int, c=cython.int, i=cython.int, k=cython.int, credit=double, figures=list)
    cdef tuple _figures(self, int row)

    @cython.locals(at=cython.int, last=cython.int, k=cython.int, c=cython.int, is_later=cython.bint, other=tuple)
    cdef bint _is_known(self, int row, tuple figures, list known)

    @cython.locals(
        unsent=cython.int, place=cython.int, i=cython.int, j=cython.int, tail=double, after=double
    )
    cdef bint _is_late(self, int row)

    @cython.locals(unsent=cython.int, k=cython.int, bucket=cython.int, i=cython.int, now=double, end=double)
    cdef int _end_begun(self, int row)

    @cython.locals(now=double, head=double, i=cython.int, above=cython.int)
    cdef double _head(self, int row, int j, int unsent)

    @cython.locals(best=double, c=cython.int, i=cython.int, size=cython.int, place=cython.int)
    cdef double _carried(self, int row, int some)

    @cython.locals(
        at=cython.int, best=double, total=double, lanes=cython.int, place=cython.int, i=cython.int,
        k=cython.int, bucket=cython.int, credit=double, work=double, sent=double, due=cython.bint,
        are_some=cython.bint,
    )
    cdef double _carried_before(self, int row, int some, int c, int size, double tail)

    @cython.locals(
        at=cython.int, by=cython.int, unsent=cython.int, k=cython.int, i=cython.int, c=cython.int,
        least=double, start=double, end=double, ends=cython.bint,
    )
    cdef bint _follows(self, int row)

    @cython.locals(k=cython.int, i=cython.int, seen=cython.int, release=double)
    cdef bint _follows_on(self, int row, int c, int unsent, double least)

    @cython.locals(k=cython.int, has_begun=cython.bint)
    cdef bint _has_begun(self, int row, int c)

    @cython.locals(i=cython.int, j=cython.int, following=double, release=double)
    cdef double _next_release(self, int row, int c, int unsent, double least)

    @cython.locals(at=cython.int, bucket=cython.int, c=cython.int, other=cython.int, rest=double)
    cdef double _rest(self, int row, int k)

    @cython.locals(
        at=cython.int, by=cython.int, some=cython.int, one=cython.int, i=cython.int, bucket=cython.int,
        is_free=cython.bint, start=double, may_be_several=cython.bint,
    )
    cdef bint _launches(self, int row, int c, int lane, int unsent, double least)

    @cython.locals(at=cython.int, by=cython.int, i=cython.int, start=double, startup=double, end=double)
    cdef bint _launch(self, int row, int c, int bucket)

    @cython.locals(at=cython.int, other=cython.int, i=cython.int, j=cython.int)
    cdef bint _joins(self, int row, int c, int bucket)

    @cython.locals(i=cython.int, most=double)
    cdef double _most(self, double[::1] paths, int first, int step, int bucket)

    @cython.locals(
        at=cython.int, by=cython.int, bucket=cython.int, after=cython.int, other=cython.int, work=double,
        sent=double, end=double,
    )
    cdef bint _ends_bucket(self, int row, int k, int c)

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


@cython.locals(i=cython.int)
cdef int _first(int bucket)
