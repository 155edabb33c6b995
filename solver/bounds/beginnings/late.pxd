import cython
from solver.bounds.beginnings.states cimport LaunchStates


cdef class LateStates(LaunchStates):
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
