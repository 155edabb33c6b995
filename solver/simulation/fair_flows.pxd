cimport cython

cdef double _SAME


cdef class _FlowProgress:
    cdef public double end, left, most, rate, since, speed
    cdef public bint is_begun

    @cython.locals(ahead=double)
    cdef void go_on(self, double speed, double now)


cdef class FairFlows:
    cdef object _capacities, _classes, _paths, _weights
    cdef dict _flows
    cdef list _crossing, _heap
    cdef public double next_end

    cpdef begin(self, channel, double rest, double rate, double most, span)

    @cython.locals(flow=_FlowProgress)
    cpdef slow(self, channel, double most, double now)

    @cython.locals(now=double, others=dict)
    cpdef pop(self)

    @cython.locals(found=dict, queue=list, seen=set)
    cpdef dict _connected(self, channel)

    @cython.locals(
        flows=dict, some=dict, left=dict, wants=dict, rates=dict, same=list, heap=list,
        flow=_FlowProgress, rate=double, speed=double, end=double,
    )
    cpdef _share(self, channels, double now)


@cython.locals(
    rates=dict, open_on=dict, flows_on=dict, waiting=dict, done=dict, some=dict, tight=list,
    share=double, each=double, most=double, rate=double, rest=double, weight=double,
)
cpdef dict fair_rates(dict wants, paths, capacities, dict left, weights)
