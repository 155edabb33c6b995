cimport cython

from solver.fusion.chain.two_sided.side cimport ChainSide

cdef int _CORE, _BEFORE, _AFTER, _NEW_BEFORE, _NEW_AFTER, _NEW_BOTH, _BOTH
cdef int _FIELDS, _FLOORS, _BOUND
cdef double _NEAR, _MORE, _LESS


cdef class Labels:
    cdef ChainSide before, after
    cdef double[::1] release, tail, total, kept, made, exact
    cdef int[::1] blocks, kept_counts, firsts, made_counts, made_of, exact_counts
    cdef int[::1] parents, choices
    cdef object bounds, boths, counts
    cdef double startup, longest, near
    cdef int most, number, alive, exact_alive, of, torn, launches
    cdef public int exact_from
    cdef public double dropped, value
    cdef public long long looks

    @cython.locals(
        k=int, label=int, field=int, kept="double[::1]")
    cpdef double run(self, double to_beat, object beginning=*) except? -1.0

    @cython.locals(i=int)
    cdef void remember(self, int k) noexcept

    @cython.locals(
        at=int, kept="double[::1]", e=double, f=double, both=double, early=double, late=double,
        held=double, behind=double, launches=int, torn=int, a=double, w=double, r=double, q=double,
        other=double, fall=double, f_torn=double, taken=double)
    cdef void extend(self, int label, int k, double to_beat) noexcept

    @cython.locals(rest=double, bound=double, at=int, made="double[::1]")
    cdef void add(
        self, double e, double f, double both, double early, double late, double held,
        double behind, int k, int choice, double to_beat) noexcept

    @cython.locals(order="int[::1]", label=int, first=int, number=int)
    cdef int keep(self, int k) except -1

    @cython.locals(
        made="double[::1]", kept="double[::1]", i=int, label=int, nearest=int, field=int)
    cdef bint keep_near(self, int[::1] order) noexcept

    @cython.locals(
        made="double[::1]", kept="double[::1]", counts="int[::1]", a=double, near=double, launches=int, torn=int,
        at=int, e=double, f=double, both=double, early=double, late=double, best=int, least=double,
        other=int, fewer=int, spare=double, o=int, fall=double, floors=double, held=double)
    cdef int nearest(self, int label) noexcept

    @cython.locals(
        made="double[::1]", kept="double[::1]", at=int, o=int, spare=double, field=int,
        stop=int, figure=double, excess=double, fall=double)
    cdef void lower(self, int other, int label) noexcept

    @cython.locals(launches=double)
    cdef double end(self, int label) noexcept
