"""A server that may not do what root may: the modes of files hold for it, too."""

#: To be run first in a process: root gives up what lets it pass modes, CAP_DAC_OVERRIDE and
#: CAP_DAC_READ_SEARCH, for itself (capset) and for what it starts (the bounding set).
MODES_HOLD = """
import ctypes, os
if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    caps = (1, 2)
    for cap in caps:
        assert libc.prctl(24, cap, 0, 0, 0) == 0, "PR_CAPBSET_DROP"
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    for field in range(3):
        data[field] &= ~sum(1 << cap for cap in caps)
    assert libc.capset(header, data) == 0
"""
