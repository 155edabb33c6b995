cimport cython


cdef class EarliestLaunches:
    cdef double[::1] release, tail, time
    cdef int[::1] closes
    cdef int count, reached
    cdef double now, value

    @cython.locals(now=double, value=double, k=int, end=double, found=double)
    cpdef double joined(self, int at, int other, int place, double time) noexcept

    cdef void run(self, int k) noexcept

    @cython.locals(release=double, tail=double, gone=int, k=int)
    cpdef void join(self, int at, int other, int place, double time) noexcept
