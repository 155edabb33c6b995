"""A PostgreSQL of the tests' own, from the binaries that are installed."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

#: Nothing that a test keeps must outlast the machine; what was answered outlasts a crash.
_QUICK = {"fsync": "off", "full_page_writes": "off"}


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest where there are several."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def missing() -> str | None:
    """Say why there can be no PostgreSQL here; None when there can."""
    try:
        import psycopg  # noqa: F401, PLC0415 - may not be installed
    except ImportError:
        return "psycopg is not installed: pip install 'interlace[postgresql]'"
    if programs() is None:
        return "no programs of PostgreSQL (initdb) are installed"
    if os.geteuid() == 0 and _unprivileged() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return None


def _unprivileged() -> str | None:
    """Name a user as whom PostgreSQL may run."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


def _as_whom() -> dict[str, Any]:
    """Return how a program is started that does not run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(_unprivileged() or "")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@dataclass
class Cluster:
    """A private server: its files and its socket are in one folder, and it has no port."""

    folder: Path
    settings: dict[str, str]
    _numbers: Iterator[int] = field(default_factory=count)

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        self._control("start", "-o", f"-k {self.folder} -c listen_addresses='' {options}")

    def stop(self, how: str = "fast") -> None:
        """End all connections and the server; ``immediate`` is a crash."""
        self._control("stop", "-m", how)

    def make(self) -> str:
        """Make an empty database, and return its URL."""
        name = f"interlace_{os.getpid()}_{next(self._numbers)}"
        self.ask("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgresql://interlace@/{name}?host={self.folder}"

    def ask(self, name: str, query: str) -> str:
        """Run SQL with PostgreSQL's own client; return what it prints."""
        return self._run("psql", "-X", "-q", "-A", "-t", "-U", "interlace", "-c", query, name)

    def _control(self, what: str, *arguments: str) -> None:
        log = self.folder / "log"
        self._run(
            "pg_ctl",
            "-s",
            "-w",
            "-t",
            "86400",
            "-D",
            str(self.folder / "data"),
            "-l",
            str(log),
            what,
            *arguments,
        )

    def _run(self, program: str, *arguments: str) -> str:
        folder = programs()
        assert folder is not None
        done = subprocess.run(
            [str(folder / program), *arguments],
            env={**os.environ, "PGHOST": str(self.folder), "LC_ALL": "C.UTF-8"},
            **_as_whom(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}"
        return (done.stdout or "").strip()

    def init(self) -> None:
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", "interlace", "-A", "trust", "-E", "UTF8", "-N")


#: Ends a cluster and removes it when whoever started it has ended, in whatever way.
_UNDERTAKER = 'read _; "$0" stop -s -m immediate -D "$1/data" 2>&-; exec rm -rf "$1"'


@contextmanager
def running(**settings: str) -> Iterator[Cluster]:
    """Start a cluster, and remove it at the end; ``settings`` are PostgreSQL's."""
    folder = Path(tempfile.mkdtemp(prefix="interlace-pg-"))  # a socket's path has 107 bytes at most
    if whom := _as_whom():
        os.chown(folder, whom["user"], whom["group"])
    control = (programs() or Path()) / "pg_ctl"
    with subprocess.Popen(
        ["/bin/sh", "-c", _UNDERTAKER, str(control), str(folder)],
        stdin=subprocess.PIPE,
        cwd="/",
        start_new_session=True,
        **whom,
    ):  # which closes its input at the end, and waits
        cluster = Cluster(folder, {**_QUICK, **settings})
        cluster.init()
        cluster.start()
        yield cluster
