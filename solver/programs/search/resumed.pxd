cimport cython
from solver.programs.search.changes cimport UndoableDraft
from solver.programs.search.draft cimport ProgramDraft

cdef class DraftState:
    cdef int[::1] waited, left, queued, begun, ended
    cdef double[::1] free_at
    cdef int asked_count, oldest, settled, early_count, peak_at
    cdef long long under_way, promised, level, peak
    cdef double now, clock, next_at, rest, over

    cdef void take(self, ProgramDraft draft)
    cdef void give(self, ProgramDraft draft)

cdef class ResumedDraft(UndoableDraft):
    cdef int stride, kept, ran_from
    cdef list states
    cdef ProgramDraft before

    cpdef void execute_whole(self)
    @cython.locals(first=int, s=int, state=DraftState)
    cpdef double execute_changed(self, double most)
    cpdef void settle(self)
    @cython.locals(k=int, item=int, before=ProgramDraft)
    cpdef void take_back_run(self)
