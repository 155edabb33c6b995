"""The names of the solver's choices, where they are shown and the choices themselves not needed.

The tables that they are the keys of import what computes; made of these by
``python -m app.write_names``.
"""

#: Formats that plans are written in (``solver.exports``).
EXPORTS = (
    "chrome",
    "chakra",
    "csv",
    "ddp",
    "deepspeed",
    "fsdp",
    "horovod",
)


#: Formats that programs are written in (``solver.exports.programs``).
PROGRAM_EXPORTS = (
    "chrome",
    "xla",
    "fsdp",
)


#: Formats that measured algorithms are written in.
TUNERS = ("nccl-tuner",)


#: Devices whose rooflines are known (``solver.traces.hlo``).
DEVICES = (
    "h100",
    "h200",
    "a100",
    "b200",
    "l40s",
    "mi300x",
    "tpu-v5e",
    "tpu-v6e",
)


#: Formats that are read (``solver.traces``).
READERS = (
    "pipedream",
    "dnn_partitioning",
    "schedule_simulator",
    "flexflow",
    "astra_text",
    "pytorch_et",
    "flight_recorder",
    "horovod",
    "hlo",
    "xla",
    "tensorflow",
    "kineto",
    "nsys",
    "dlc",
    "chakra",
)


#: Formats of benchmarks that are read (``solver.calibration.measurements``).
BENCHMARKS = (
    "nccl_tests",
    "mscclpp",
    "osu",
    "oneccl",
    "imb",
    "oneccl_csv",
    "deepspeed",
    "nccl_inspector",
    "flight_recorder",
    "mscclpp_json",
    "ddp_logging",
    "autotune",
    "csv",
)


#: What costs are fitted by (``solver.calibration.fits``).
FITS = (
    "linear",
    "piecewise",
    "table",
)


#: How tensors are grouped (``solver.fusion.layered``).
FUSIONS = (
    "joint",
    "maxmin",
    "maxmin_momentum",
    "none",
)


#: How given buckets are ordered (``solver.schedule``).
SCHEDULERS = (
    "jackson",
    "lp",
)


#: What runs today (``solver.policies``).
POLICIES = (
    "wfbp",
    "single",
    "horovod",
    "ddp",
    "ddp_priority",
    "tictac",
    "p3",
    "bytescheduler",
    "mg_wfbp",
    "ada_fusion",
    "pace",
)


#: The rules of today for programs (``solver.programs.policies``).
PROGRAM_POLICIES = (
    "in_order",
    "inductor",
    "simple_overlap",
    "bucketed_overlap",
    "transformer_blocks",
    "topo_span",
    "deepcompile",
    "xla_lhs",
)


#: Compressions (``solver.simulation.compression``).
COMPRESSIONS = (
    "fp16",
    "bf16",
    "fp8",
    "int8",
    "topk",
)


#: Algorithms of costs that were measured (``solver.costs``).
MEASURED = (
    "table",
    "linear",
    "piecewise",
)


#: Algorithms of costs (``solver.costs``), each with the fields that some only have.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "ring": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
        "reduction_gbps",
    ),
    "recursive_doubling": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
        "reduction_gbps",
    ),
    "halving_doubling": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
        "reduction_gbps",
    ),
    "double_binary_tree": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
        "reduction_gbps",
    ),
    "hierarchical": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
        "reduction_gbps",
        "node_workers",
        "node_bandwidth_gbps",
        "node_hop_us",
        "shared_nic",
    ),
    "parameter_server": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
        "placement",
    ),
    "in_network": (
        "negotiation_us_per_worker",
        "line_rate_share",
        "hop_us",
    ),
    "table": (
        "table",
        "tables",
        "measured_bytes",
        "measured_of_kinds",
    ),
    "linear": (
        "constant_us",
        "us_per_byte",
        "measured_bytes",
    ),
    "piecewise": (
        "piecewise",
        "measured_bytes",
    ),
}


#: What attains a bound of each kind (``solver.bounds.kinds``).
BOUND_KINDS: dict[str, str] = {
    "compute": "compute alone takes that long",
    "path": "the longest path, {these} on it, with each collective at its least cost",
    "chain": "{these} in release order, then {tail}",
    "packing": "the bytes of {these} after {release}, then {tail}",
    "nested": "{these} between their releases and the compute after each",
    "core": "{these}: what cannot be sent before {release} or in the last {tail} lies between",
    "tried": "every beginning of launches of {these} was tried, or takes that long at least",
    "slowed": "compute alone, slowed down by sending {these}",
    "shared": "{these} on one network card after {release} and a start-up, then {tail}",
    "windows": "in less, {these} would not fit between what comes before and after each",
    "load": "{these} one after another on one stream or channel after {release}, then {tail}",
    "overlap": "all of a stream or channel, and what cannot run beside {these} at its ends",
    "beside": "all of a stream, and what {these} take longer than all that may run beside them",
    "exact": "every beginning of a program was tried, or takes that long at least",
}


#: What each verdict on a gain is called (``solver.evidence.gain``).
VERDICTS: dict[str, str] = {
    "worth_it": "worth it",
    "too_close": "too close to say",
    "nothing": "nothing to gain",
    "unreachable": "not reachable with what you run",
}


#: What each is called that a plan is compared with (``solver.evidence.gain``).
WHAT_RUNS: dict[str, str] = {
    "recorded": "what was recorded",
    "ddp": "DDP",
    "ddp_tuned": "DDP tuned",
    "fsdp2": "FSDP2",
    "fifo": "FIFO",
    "inductor": "inductor",
    "xla_lhs": "XLA's scheduler",
}


#: The graph's own collectives in the order of their release.
FIFO = "fifo"


#: What may be drawn beside a plan; what is of programs alone, beside programs alone.
RIVALS = tuple(dict.fromkeys((FIFO, *POLICIES, *PROGRAM_POLICIES)))
