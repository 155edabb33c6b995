import cython
from solver.bounds.beginnings.late cimport LateStates


cdef class Beginnings(LateStates):
    cdef public int looks
    cdef public long buckets
    cdef public object is_over
    cdef public dict known
    cdef public long remembered

    cpdef bint some_end(self)

    @cython.locals(key=tuple, figures=tuple, known=list)
    cdef bint _ends(self, int row)

    @cython.locals(at=cython.int, c=cython.int, i=cython.int, k=cython.int, credit=double, figures=list)
    cdef tuple _figures(self, int row)

    @cython.locals(at=cython.int, last=cython.int, k=cython.int, c=cython.int, is_later=cython.bint, other=tuple)
    cdef bint _is_known(self, int row, tuple figures, list known)

    @cython.locals(
        at=cython.int, by=cython.int, unsent=cython.int, k=cython.int, i=cython.int, c=cython.int,
        least=double, start=double, end=double, ends=cython.bint,
    )
    cdef bint _follows(self, int row)

    @cython.locals(k=cython.int, i=cython.int, seen=cython.int, release=double)
    cdef bint _follows_on(self, int row, int c, int unsent, double least)

    @cython.locals(i=cython.int, j=cython.int, following=double, release=double)
    cdef double _next_release(self, int row, int c, int unsent, double least)

    @cython.locals(
        at=cython.int, by=cython.int, some=cython.int, one=cython.int, i=cython.int, bucket=cython.int,
        is_free=cython.bint, start=double, may_be_several=cython.bint,
    )
    cdef bint _launches(self, int row, int c, int lane, int unsent, double least)

    @cython.locals(at=cython.int, by=cython.int, i=cython.int, start=double, startup=double, end=double)
    cdef bint _launch(self, int row, int c, int bucket)

    @cython.locals(at=cython.int, other=cython.int, i=cython.int, j=cython.int)
    cdef bint _joins(self, int row, int c, int bucket)

    @cython.locals(
        at=cython.int, by=cython.int, bucket=cython.int, after=cython.int, other=cython.int, work=double,
        sent=double, end=double,
    )
    cdef bint _ends_bucket(self, int row, int k, int c)
