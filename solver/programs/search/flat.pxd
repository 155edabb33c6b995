cdef class Flat:
    cdef readonly object problem
    cdef readonly int ops, collectives, channels, lanes, buffers
    cdef readonly int[::1] position, number, channel, lane, uses
    cdef readonly int[::1] preds_at, preds, succs_at, succs, reads_at, reads, writes_at, writes
    cdef readonly double[::1] duration
    cdef readonly long long[::1] size, held, written
    cdef readonly long long base, memory, most_under_way
    cdef readonly double load
    cdef readonly bint is_held_to_wait
    cdef dict _costs
