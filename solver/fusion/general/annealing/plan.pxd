cimport cython
from solver.fusion.general.annealing.problem cimport AnnealingProblem

cdef double _ROUNDING

cdef class AnnealedPlan:
    cdef readonly AnnealingProblem problem
    cdef readonly int launches
    cdef readonly int[::1] home, follower, first, count, parts, spare_buckets
    cdef readonly int[::1] bucket, spare_launches, row, base, capacity, length, place, last
    cdef readonly long long[::1] total, size
    cdef readonly double[::1] time, start, end, begin, finish, release, tail, path, lead
    cdef int[::1] order
    cdef int done
    cdef readonly int spare_bucket_count, spare_launch_count, final
    cdef readonly double value

    cpdef int open_bucket(self) noexcept
    cpdef void close_bucket(self, int b) noexcept
    @cython.locals(launch=int)
    cpdef int open_launch(self, int b, long long size) noexcept
    @cython.locals(problem=AnnealingProblem, b=int, i=int, k=int)
    cpdef void resize(self, int launch, long long size) noexcept
    cpdef void close_launch(self, int launch) noexcept
    @cython.locals(at=int, k=int)
    cpdef void put(self, int c, int place, int launch) noexcept
    @cython.locals(at=int, launch=int, k=int)
    cpdef int take(self, int c, int place) noexcept

    cpdef void copy(self, AnnealedPlan other) noexcept

    @cython.locals(
        problem=AnnealingProblem, k=int, b=int, c=int, waiting=int, ready=int, asked=int, value=int, work=double,
        latest=double,
    )
    cpdef double execute(self, double limit) noexcept

    @cython.locals(
        problem=AnnealingProblem, latest=double, c=int, now=double, base=int, place=int, launch=int, b=int,
    )
    cpdef double execute_apart(self, double limit) noexcept

    @cython.locals(
        problem=AnnealingProblem, k=int, i=int, b=int, c=int, end=double,
    )
    cdef int _pass_on(self, int ready, int asked, double limit) noexcept

    @cython.locals(
        problem=AnnealingProblem, base=int, length=int, place=int, now=double, rest=double, launch=int,
        b=int, ready=int,
    )
    cdef int _launch(self, int c, double limit) noexcept

    @cython.locals(problem=AnnealingProblem, i=int, k=int)
    cdef int _end(self, int b, double now, double limit, int ready) noexcept

    @cython.locals(problem=AnnealingProblem, e=int, j=int)
    cdef int _follow(self, int k, double end, int ready) noexcept

    @cython.locals(nodes=int, at=int, k=int)
    cpdef void look_back(self) noexcept

    @cython.locals(problem=AnnealingProblem, b=int, c=int, place=int, rest=double, i=int)
    cdef void _look_back(self, int launch) noexcept

    @cython.locals(problem=AnnealingProblem, longest=double, e=int)
    cdef double _behind(self, int k) noexcept
