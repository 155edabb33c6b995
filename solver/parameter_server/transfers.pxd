import cython

from solver.simulation.clock cimport SharedProgress

cdef int _ONE_SPEED


cdef class LinkTransfers:
    cdef int _servers, _resources, _first
    cdef bint _is_fair
    cdef list _clocks, _active
    cdef readonly int link
    cdef readonly double next_end

    @cython.locals(link=int, place=int, clock=SharedProgress)
    cpdef begin(self, int worker, int resource, double amount, double now)

    @cython.locals(clock=SharedProgress)
    cpdef int first(self)

    @cython.locals(link=int, now=double, clock=SharedProgress)
    cpdef end(self, int worker)

    @cython.locals(clock=SharedProgress)
    cpdef follow(self, int place, double amount)

    cpdef list left(self, double now)

    @cython.locals(link=int, clock=SharedProgress)
    cdef void _look(self)

    @cython.locals(one=int, other=int, clock=SharedProgress)
    cdef _share(self, int link, double now)

    cdef _share_fairly(self, int first, double now)
