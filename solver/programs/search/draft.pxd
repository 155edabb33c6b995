cimport cython
from solver.programs.search.flat cimport Flat

cdef class ProgramDraft:
    cdef readonly Flat flat
    cdef readonly int[::1] order, place, home, follower, first, count
    cdef readonly long long[::1] total, packed, unpacked, output
    cdef readonly double[::1] cost, pack, unpack, start, end
    cdef public int length
    cdef public bint makes_room
    cdef readonly double value, over
    cdef readonly long long peak, excess
    cdef int[::1] waited, left, queue, queued, begun, ended, asked, early, early_at
    cdef double[::1] free_at
    cdef int asked_count, oldest, settled, early_count, here, peak_at
    cdef long long under_way, promised
    cdef double now, clock, next_at, rest
    cdef long long level

    cpdef void adopt(self, ProgramDraft other)
    cdef void take_run(self, ProgramDraft other)
    @cython.locals(k=int, item=int)
    cpdef void set_order(self, items)
    cpdef double execute(self, double most) noexcept
    @cython.locals(c=int, k=int, time=double)
    cdef double run_from(self, int place, double most) noexcept
    @cython.locals(flat=Flat, k=int, item=int)
    cdef bint run_between(self, int place, int end, double most) noexcept
    @cython.locals(flat=Flat, b=int, c=int)
    cdef void _begin(self) noexcept
    @cython.locals(flat=Flat)
    cdef void _compute(self, int i) noexcept
    @cython.locals(flat=Flat, e=int, b=int)
    cdef void _await(self, int i) noexcept
    @cython.locals(
        flat=Flat, c=int, i=int, channel=int, start=double, item=int, copies=cython.longlong,
    )
    cdef void launch(self, int b) noexcept
    @cython.locals(flat=Flat, c=int, i=int)
    cdef void finish(self, int b) noexcept
    @cython.locals(flat=Flat, found=int, when=double, is_end=bint, c=int, b=int, at=double, i=int)
    cdef void pass_to(self, double time) noexcept
    @cython.locals(flat=Flat, c=int, item=int, is_end=bint)
    cdef void _look_ahead(self) noexcept
    cdef void _go_out(self, int b) noexcept
    @cython.locals(flat=Flat, k=int, b=int)
    cdef void _make_room(self, long long need) noexcept
    @cython.locals(flat=Flat, i=int)
    cdef void _come_off(self, int b) noexcept
    @cython.locals(flat=Flat, c=int, i=int)
    cdef void _let_inputs_go(self, int b) noexcept
    cdef void _stand(self, double time) noexcept
    @cython.locals(flat=Flat, e=int, b=int)
    cdef void drop_reads(self, int i) noexcept
    @cython.locals(flat=Flat, e=int, b=int)
    cdef void drop_writes(self, int i) noexcept
    @cython.locals(flat=Flat, k=int, item=int, c=int)
    cpdef bint is_in_order(self) noexcept
    @cython.locals(flat=Flat, e=int, j=int, c=int, at=int)
    cdef bint _is_after(self, int i, int k) noexcept
