cimport cython

from solver.simulation.kernel.heap cimport Heap
from solver.simulation.kernel.senders cimport Sender, Units

cdef int _NONE, _HAPPENS, _WAKES


cdef class KernelRun:
    cdef Units units
    cdef list senders
    cdef object durations
    cdef double[::1] times, begun, landed, starts, ends
    cdef int[::1] waiting, tensor, succ_from, succ, position, channel
    cdef int[::1] missing, stack, flying, waking, sent
    cdef long long[::1] offset, size
    cdef Heap heap, computing
    cdef int ops, tensors, carrying
    cdef double slowdown, speed, clock, since, next_end
    cdef readonly int launches, events, unsent

    @cython.locals(heap=Heap, computing=Heap, now=double, wakes=bint, event=int, channel=int, sender=Sender,
                   time=double, op=int)
    cdef double _run(self, double[::1] durations, double[::1] factors)

    @cython.locals(op=int, channel=int, sender=Sender)
    cdef _restart(self)

    @cython.locals(op=int, depth=int)
    cdef void _begin(self, double[::1] durations)

    @cython.locals(op=int)
    cdef void _pass_on(self, int depth, double[::1] durations)

    @cython.locals(edge=int, after=int)
    cdef int _end(self, int op, double now, int depth)

    @cython.locals(at=double)
    cdef void _compute(self, int op, double now, double duration)

    @cython.locals(speed=double)
    cdef void _carry(self, int more, double now)

    @cython.locals(ahead=double)
    cdef void _look(self, double now)

    cdef void _wake(self, int channel, double now)

    @cython.locals(sender=Sender, units=Units, unit=int, part=int, place=int, time=double)
    cdef void _ask(self, int channel, double now, double[::1] factors)

    @cython.locals(units=Units, unit=int, depth=int, place=int)
    cdef void _land(self, int channel, double now, double[::1] durations)
