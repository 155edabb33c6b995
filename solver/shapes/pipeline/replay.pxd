import cython


cdef class FlatOrder:
    cdef readonly int ranks
    cdef readonly tuple passes, last_of_ranks, last_of_stages
    cdef readonly int[::1] before, source, part, channel
    cdef readonly double[::1] ends, arrivals, free

    @cython.locals(last=double, start=double, end=double, i=int, c=int, messages="double[::1]", durations="double[::1]")
    cpdef double run(self, durations, messages)
