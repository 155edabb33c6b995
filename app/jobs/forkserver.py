"""Told to the process that forks the children: how it ends is the server's business.

Whoever stops a service signals all its processes at once (systemd does). If this one obeyed, the
children would seem dead. It ends by itself when the server has.
"""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
