cdef class StepProfile:
    cdef readonly list resource, amount, waiting, sources
    cdef readonly tuple succs
