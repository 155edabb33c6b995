cimport cython

from solver.simulation.fair_flows cimport FairFlows

cdef double _SAME


cdef class SharedLinks(FairFlows):
    cdef bint _is_blamed, _is_traced
    cdef object _full_paths
    cdef list _carried
    cdef dict _rows
    cdef int _jobs, _levels
    cdef int[::1] _job_of, _of_job, _rank, _row_of, _used_at
    cdef double[::1] _alone, _blamed_at, _fastest, _lost, _most_on, _share_on, _wanted

    @cython.locals(alone=double, speed=double, p=int)
    cpdef begin(self, int channel, double rest, double rate, double most, span)

    @cython.locals(channel=int)
    cpdef int pop(self) except -1

    @cython.locals(k=int)
    cpdef settle(self, double now)

    @cython.locals(left=double)
    cpdef double left(self, int channel, double now)

    cdef bint _joins(self, int link) noexcept

    @cython.locals(i=int, channel=int, time=double, speed=double, best=double)
    cdef _look(self, double now)

    @cython.locals(began=double, speed=double, rate=double, share=double, job=int)
    cdef _trace(self, int channel, double now)

    @cython.locals(
        job=int, p=int, link=int, row=int, first=int, k=int, other=int, total=double, rate=double,
    )
    cdef void _blame(self, int channel, double time) noexcept

    @cython.locals(p=int)
    cdef void _want(self, int channel, double more) noexcept

    @cython.locals(rate=double, job=int, best=double, p=int, link=int, first=int, k=int, own=double)
    cdef double _best(self, int channel) noexcept

    @cython.locals(
        mine=double, found=int, is_fast=bint, fullest=double, p=int, link=int, fast=bint, share=double,
    )
    cdef int _bottleneck(self, int channel) noexcept

    @cython.locals(
        base=int, first=int, total=double, level=int, k=int, channel=int, rate=double, place=int,
    )
    cdef void _use(self, int link) noexcept
