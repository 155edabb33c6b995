cimport cython

from solver.fusion.chain.two_sided.side cimport ChainSide

cdef int _CORE, _BEFORE, _AFTER, _NEW_BEFORE, _NEW_AFTER, _NEW_BOTH, _BOTH
cdef int _FIELDS, _BOUND


cdef class Labels:
    cdef ChainSide before, after
    cdef double[::1] release, tail, total, kept, made
    cdef int[::1] blocks, kept_counts, made_counts, made_of, parents, choices
    cdef object bounds
    cdef double startup
    cdef int most, number, dropped_count
    cdef int[::1] dropped_first
    cdef double[::1] room_before, room_after
    cdef public long long looks
    cdef public double dropped, value

    @cython.locals(
        count=int, top=int, alive=int, k=int, label=int, kept="double[::1]",
        launches=double)
    cpdef double run(self, double to_beat, long long looks) except? -1.0

    @cython.locals(
        at=int, kept="double[::1]", e=double, f=double, shared=double, early=double, late=double,
        launches=int, torn=int, a=double, w=double, r=double, q=double, other=double,
        taken=double, choice=int, freed=double)
    cdef void extend(self, int label, int k, double to_beat) noexcept

    @cython.locals(rest=double, bound=double, at=int, made="double[::1]")
    cdef void add(
        self, double e, double f, double shared, double early, double late, int launches, int torn,
        int k, int label, int choice, double to_beat) noexcept

    @cython.locals(
        count=int, first=int, second=int, least=double, i=int, skipped=int, at=int, room=double)
    cdef double outer(self, int k, double early, double late) noexcept

    @cython.locals(low=int, high=int, middle=int)
    cdef int place(self, double[::1] times, double time) noexcept

    @cython.locals(
        alive=int, made="double[::1]", kept="double[::1]", label=int, at=int, field=int)
    cdef int keep(self, int k) except -1

    @cython.locals(
        made="double[::1]", kept="double[::1]", counts="int[::1]", a=double, at=int, e=double,
        f=double, early=double, late=double, launches=int, torn=int, together=double, other=int,
        o=int, spare=double)
    cdef bint is_needless(self, int label, int alive) noexcept
