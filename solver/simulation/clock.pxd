cdef class SharedProgress:
    cdef double _clock, _speed, _time
    cdef list _heap
    cdef public double next_end

    cpdef int first(self)
    cpdef void begin(self, int thing, double length, double now)
    cpdef tuple pop(self)
    cpdef tuple follow(self, int thing, double length)
    cpdef void set_speed(self, double speed, double now)
    cdef double _at(self, double time)
    cpdef void _look(self, double now)
