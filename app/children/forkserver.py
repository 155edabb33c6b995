"""Told to the process that forks the children, before all else: how it ends.

Whoever stops a service signals all its processes at once (systemd does). If this one obeyed, the
children would seem dead. It ends by itself when the server has.
"""

import gc
import signal

from app.children.orphans import end_with_server
from app.operations.memory import GARBAGE

gc.set_threshold(*GARBAGE)  # what is imported from here on stays
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end_with_server()
