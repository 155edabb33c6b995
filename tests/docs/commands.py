"""``interlace`` for the shell: forked from a process that has imported all of it.

``python -m tests.docs.commands SOCKET`` waits at a socket. What :data:`SHIM` puts in the place of
the command sends it arguments, environment, folder and standard streams, and ends as the fork does.
So a line of an example costs what it computes, not two seconds of imports.
"""

import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from types import ModuleType

import app
from app.cli.main import main

SHIM = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
socket.send_fds(server, [b"."], [0, 1, 2])
wish = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
server.sendall(json.dumps(wish).encode())
server.shutdown(socket.SHUT_WR)
code = server.recv(1)
sys.exit(code[0] if code else "interlace: killed")
"""


def serve(path: str) -> None:
    """Run each command that is sent, in a fork of its own."""
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if "migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                run(connection)
            connection.close()


def run(connection: socket.socket) -> None:
    """Be the command that was sent, and answer with its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    wish = json.loads(b"".join(iter(lambda: connection.recv(2**16), b"")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(wish["folder"])
    os.environ.clear()
    os.environ.update(wish["environment"])
    sys.modules["__main__"] = ModuleType("__main__")  # processes of its own import no more than it
    sys.argv = ["interlace", *wish["arguments"]]
    code = 1
    try:
        main()
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except BaseException as error:  # noqa: BLE001 - as Python itself ends
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
