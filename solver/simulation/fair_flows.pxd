cimport cython

cdef double _SAME


cdef class FairFlows:
    cdef readonly double[::1] rate, speed
    cdef double[::1] _weight, _capacities, _left_of, _most, _since, _end, _on_weight, _left, _flows
    cdef double[::1] _wants
    cdef int[::1] _at, _path, _class, _is_begun, _active, _on_at, _on, _on_count, _found, _is_found
    cdef int[::1] _seen, _touched, _open, _links, _count_on, _is_tight, _waiting
    cdef int _active_count, _found_count, _links_count, _waiting_count, _stamp, _connected, _next
    cdef public double next_end

    @cython.locals(now=double, end=double, at=int, p=int, link=int, k=int)
    cpdef begin(self, int channel, double rest, double rate, double most, span)

    cpdef slow(self, int channel, double most, double now)

    @cython.locals(now=double, channel=int, at=int, k=int, p=int, link=int, end=int)
    cpdef int pop(self) except -1

    cpdef bint is_under_way(self, int channel) noexcept

    cdef bint _joins(self, int link) noexcept

    cdef _look(self, double now)

    @cython.locals(stamp=int, at=int, each=int, p=int, link=int, k=int, other=int)
    cdef void _connect(self, int channel) noexcept

    @cython.locals(k=int, channel=int)
    cdef void _share(self, double now) noexcept

    @cython.locals(count=int, level=int, k=int, i=int, channel=int, own=int)
    cdef bint _wait_of_class(self) noexcept

    @cython.locals(
        share=double, least=double, most=double, want=double, is_content=bint, kept=int, i=int,
        channel=int,
    )
    cdef void _fill(self, double now) noexcept

    @cython.locals(i=int, channel=int, p=int, link=int)
    cdef void _open_links(self) noexcept

    @cython.locals(share=double, most=double, kept=int, i=int, link=int)
    cdef double _least_share(self) noexcept

    @cython.locals(least=double, i=int)
    cdef double _least_want(self) noexcept

    @cython.locals(p=int)
    cdef bint _crosses_tight(self, int channel) noexcept

    @cython.locals(p=int, link=int, rest=double, speed=double, is_whole=bint)
    cdef void _settle(self, int channel, double rate, double now) noexcept

    @cython.locals(left=double)
    cdef void _go_on(self, int channel, double speed, double now) noexcept
