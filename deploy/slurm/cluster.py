"""A Dask scheduler here, whose workers are SLURM jobs that come and go with the work.

``pip install 'interlace[cluster,postgresql]' dask-jobqueue`` on the login node and, the same
release, on the compute nodes (a shared file system will do). Then, on a node that the compute nodes
and the servers of Interlace can reach::

    python deploy/slurm/cluster.py --interface ib0 --partition cpu --at-most 64
    INTERLACE_SCHEDULER=tcp://NODE:8786 INTERLACE_WORKERS=64 interlace serve

Whoever reaches the port of the scheduler may run any program as this user: keep it in a network
that you trust, or use TLS (``distributed.comm`` in ``~/.config/dask``).
"""

import argparse
import signal
from threading import Event

from dask_jobqueue import SLURMCluster


def main() -> None:
    """Keep the scheduler until a signal comes; its SLURM jobs end with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interface", help="network interface that the nodes share")
    parser.add_argument("--partition", help="where SLURM runs the workers")
    parser.add_argument("--account", help="who pays")
    parser.add_argument("--port", type=int, default=8786, help="of the scheduler")
    parser.add_argument("--cores", type=int, default=8, help="of a SLURM job")
    parser.add_argument("--memory", default="40GB", help="of a SLURM job")
    parser.add_argument("--walltime", default="04:00:00", help="of a SLURM job")
    parser.add_argument("--at-most", type=int, default=8, help="SLURM jobs at once")
    given = parser.parse_args()
    cluster = SLURMCluster(
        queue=given.partition,
        account=given.account,
        # one job of Interlace per core: INTERLACE_JOB_MEMORY_BYTES x cores must fit in the memory
        cores=given.cores,
        processes=1,
        memory=given.memory,
        walltime=given.walltime,
        interface=given.interface,
        scheduler_options={"port": given.port, "interface": given.interface},
        # Dask's own limit looks at the Dask worker alone; each job's process has one of its own.
        # A worker leaves a minute before SLURM ends it, and hands back what it has.
        worker_extra_args=["--lifetime", "235m", "--lifetime-stagger", "4m"],
    )
    cluster.adapt(minimum_jobs=0, maximum_jobs=given.at_most)
    print(f"INTERLACE_SCHEDULER={cluster.scheduler_address}", flush=True)
    ended = Event()
    for sent in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sent, lambda *_: ended.set())
    ended.wait()
    cluster.close()


if __name__ == "__main__":
    main()
