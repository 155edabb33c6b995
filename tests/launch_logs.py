"""What tools write of launches: made up, with times that are known."""

import json

KIB, MIB = 2**10, 2**20


def inspected(coll="AllReduce", size=MIB, us=60, *, number=1, rank=0, ranks=2, **more):
    """A record of NCCL Inspector 4.0."""
    told = {"coll": coll, "coll_sn": number, "coll_msg_size_bytes": size, "coll_exec_time_us": us}
    return {
        "header": {"id": "0x11", "rank": rank, "n_ranks": ranks, "nnodes": 2},
        "metadata": {"inspector_output_format_version": "v4.0", "hostname": f"h{rank}"},
        "coll_perf": told | more,
    }


def lines_of(records):
    return "".join(json.dumps(record) + "\n" for record in records)


INSPECTOR = lines_of(
    inspected(size=size, us=us + rank, number=number, rank=rank, coll_timing_source="kernel_gpu")
    for number, (size, us) in enumerate([(MIB, 60), (8 * MIB, 180), (64 * MIB, 1100)])
    for rank in range(2)
)


def entry(name="nccl:all_reduce", dims=(2621440,), ms=2.5, *, dtype="Float", out=None, **more):
    """An entry of PyTorch's flight recorder."""
    sizes = {"input_sizes": [list(dims)], "output_sizes": [list(out or dims)]}
    types = {"input_dtypes": [dtype], "output_dtypes": [dtype]}
    told = {"process_group": ["0", "default_pg"], "profiling_name": name, "state": "completed"}
    return told | sizes | types | ({} if ms is None else {"duration_ms": ms}) | more


def dumped(*entries, ranks="[0, 1]", **more):
    group = {"name": "0", "desc": "default_pg", "ranks": ranks}
    return {"version": "2.10", "pg_config": {"0": group}, "entries": list(entries)} | more


RECORDER = json.dumps(dumped(*[entry()] * 6, world_size=2))
DEEPSPEED_HEAD = (
    "Comm. Op            Message Size        Count               Total Latency(ms)   "
    "Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)    \n"
)


def summary_row(size, count, ms, tput, busbw):
    cells = (size, count, f"{count * ms:.2f}", f"{ms:.2f}", f"{tput:.2f}", f"{busbw:.2f}")
    return " " * 20 + "".join(f"{cell:<20}" for cell in cells) + "\n"


DEEPSPEED = (
    f"{DEEPSPEED_HEAD}all_gather_into_tensor\n"
    f"{summary_row('128.0 KB', 10, 0.08, 13.11, 12.29)}"
    f"{summary_row('50.0 MB', 20, 6.61, 63.45, 59.49)}"
    f"reduce_scatter_tensor\n{summary_row('50.0 MB', 20, 7.0, 59.92, 56.17)}"
    f"all_reduce\n{summary_row('11.25 MB', 4, 3.09, 30.54, 57.27)}"
)


def mpi_table(title, rows, *, processes=4, names="t_min[usec]  t_max[usec]  t_avg[usec]"):
    """A table of Intel MPI Benchmarks."""
    head = f"# Benchmarking {title} \n# #processes = {processes} \n#----\n"
    table = "".join(f"{size:>13}  1000 {' '.join(map(str, times))}\n" for size, *times in rows)
    return f"{head}       #bytes #repetitions  {names}\n{table}\n"


IMB_ROWS = [(4096, 18.82, 22.82, 20.82), (MIB, 227.72, 231.72, 229.72)]
IMB = "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n\n" + mpi_table("Allreduce", IMB_ROWS)
ONECCL = IMB.split("\n\n", 1)[1].replace("Benchmarking ", "Benchmarking: ").replace(" =", ":")
ONECCL_CSV = (
    "#ranks,collective,reduction,dtype,dtype_size,#elements/buffer,#buffers,#repetitions,"
    "t_min[usec],t_max[usec],t_avg[usec],stddev[%],wait_t_avg[usec]\n"
    "4,allreduce,sum,float32,4,1024,1,16,18.8,22.8,20.8,2.1,0\n"
    "4,allgatherv,,float32,4,1024,1,16,28.8,32.8,30.8,2.1,0\n"
)
MSCCLPP = (
    "#                                        in-place                       out-of-place\n"
    "#       size         count     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
    "#        (B)    (elements)     (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
    "     1048576       262144    33.11   31.67   55.43      0\n"
    "   268435456     67108864  3375.44   79.53  139.17      0\n"
    "\n# Out of bounds values : 0 OK\n"
)
MSCCLPP_JSON = lines_of(
    {"name": "allreduce", "kernel": 5, "ranks": 8, "size": size, "time": us, "algBw": 1, "busBw": 2}
    for size, us in ((MIB, 33.11), (4 * MIB, 72.43))
)
NCCL_ROW = (
    "{}      1048576       262144     float     sum      -1{}     92.4   11.34   17.02      0"
    "{}     92.4   11.34   17.02      0\n"
)
NCCL_HEAD = (
    "# nThread 1 nGpus 1\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
    "     time   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
    "             (us)  (GB/s)  (GB/s)\n"
)
AUTOTUNE = (
    "hierarchical_allreduce,hierarchical_allgather,cache_enabled,cycle_time_ms,"
    "tensor_fusion_threshold,score\n0,0,1,5,4,400\n0,0,1,25,16,520\n0,0,1,10,8,450\n"
)
DDP = {
    "world_size": 8,
    "bucket_sizes": "8196000, 26255360",
    "rebuilt_bucket_sizes": "8196000, 26255360, 9724160",
    "avg_forward_compute_time": 40_000_000,
    "avg_backward_compute_time": 80_000_000,
    "avg_backward_comm_time": 30_000_000,
    "avg_backward_compute_comm_overlap_time": 25_000_000,
}
