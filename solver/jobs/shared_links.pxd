cimport cython

from solver.simulation.fair_flows cimport FairFlows, _FlowProgress

cdef double _SAME


cdef class _LinkUse:
    cdef readonly double share
    cdef readonly dict fastest, jobs


cdef class SharedLinks(FairFlows):
    cdef bint _is_blamed
    cdef object _job_of, _full_paths
    cdef dict _alone, _lost, _of_job, _since
    cdef list _most, _traced, _wanted

    cpdef begin(self, channel, double rest, double rate, double most, span)

    cpdef _share(self, channels, double now)

    @cython.locals(flow=_FlowProgress)
    cpdef pop(self)

    cpdef settle(self, double now)

    cpdef bint is_under_way(self, channel)

    @cython.locals(flow=_FlowProgress)
    cpdef double left(self, channel, double now)

    @cython.locals(
        flows=dict, since=dict, on=dict, began=double, flow=_FlowProgress, speed=double, best=double,
        rate=double, share=double,
    )
    cdef _book(self, channels, double now)

    @cython.locals(rates=dict, lost=dict, total=double, rate=double)
    cdef _blame(self, channel, double time, dict on)

    @cython.locals(alone=double, weight=double)
    cdef double _by_itself(self, channel, double rate)

    @cython.locals(weight=double)
    cdef void _want(self, channel, double more)

    @cython.locals(found=dict, queue=list, seen=set, wanted=list, most=list)
    cpdef dict _connected(self, channel)

    @cython.locals(crossing=dict, best=double, rate=double, own=double, weight=double)
    cdef double _best(self, channel)

    @cython.locals(
        flow=_FlowProgress, wanted=list, most=list, mine=double, use=_LinkUse, is_fast=bint, fast=bint,
        fullest=double, share=double,
    )
    cdef _bottleneck(self, channel, dict on)

    @cython.locals(
        flows=dict, fastest=dict, jobs=dict, total=double, flow=_FlowProgress, rate=double,
        weight=double,
    )
    cdef _LinkUse _use(self, link)
