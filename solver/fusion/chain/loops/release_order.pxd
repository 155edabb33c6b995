cimport cython


@cython.locals(
    count=int, k=int, waiting=int, origin=int, head=int, size=int, ready=double, end=double,
    carried=double, key=double, end_of="double[::1]", prefix="double[::1]", keys="double[::1]",
    queue="int[::1]", before="int[::1]")
cpdef tuple ends(const double[::1] release, const double[::1] work, double a)
