cimport cython

cdef class AnnealingProblem:
    cdef readonly int nodes, tensors, channels
    cdef readonly bint is_apart
    cdef readonly double alone
    cdef double[::1] duration, behind, head, after, free, rest_after, startup, per_byte
    cdef int[::1] waiting, succ_from, succ, pred_from, pred
    cdef int[::1] node, channel, lane, tensor, roots, is_line
    cdef long long[::1] size, element
    cdef list costs
    cdef int[::1] left, ready, asked, at, missing, unsent
    cdef double[::1] now, rest
    cdef double time(self, int lane, long long size) noexcept
    cdef double _other_time(self, int lane, long long size) noexcept
