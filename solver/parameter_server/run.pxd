import cython

from solver.parameter_server.draws cimport StepProfile
from solver.parameter_server.transfers cimport LinkTransfers


cdef class _ServerRun:
    cdef tuple _names
    cdef int _resources, _first_link, _workers, _steps, _enough, _lacking, _together
    cdef long long _to_drop, _events
    cdef bint _is_synchronous, _is_recorded
    cdef double _stagger_us, _start, _last, _end
    cdef list _windows, _profiles, _drawn, _factors, _queues, _serving, _rests, _profile, _factor
    cdef list _waiting, _left, _heap, _begun, _ends, _before
    cdef LinkTransfers _transfers
    cdef object _record

    @cython.locals(now=double, place=int)
    cdef bint _handle_next(self) except -1

    @cython.locals(waiting=list, profile=StepProfile, j=int, left=int)
    cdef _end_op(self, int worker, int op, double now)

    @cython.locals(ends=list)
    cdef _end_step(self, int worker, double now)

    @cython.locals(number=int, profile=StepProfile, op=int)
    cdef _start_step(self, int worker, double now)

    @cython.locals(other=int)
    cdef _begin_steps(self, int worker, double now)

    @cython.locals(profile=StepProfile, resource=int, place=int, amount=double)
    cdef _add(self, int worker, int op, double now)

    cdef _compute(self, int place, double amount, int resource, double now)

    @cython.locals(worker=int, resource=int, op=int, following=int, amount=double, profile=StepProfile)
    cdef _end_computing(self, int place, double now)

    @cython.locals(
        place=int, worker=int, resource=int, op=int, following=int, amount=double, rests=dict, waits=bint
    )
    cdef _end_transfer(self, double now)

    @cython.locals(amount=double, window=double, profile=StepProfile)
    cdef double _first_service(self, int worker, int op, int resource) except -1

    cdef list _done(self, double now)
