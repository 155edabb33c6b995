"""The names of the solver's choices, where they are shown and the choices themselves not needed.

The tables that they are the keys of import what computes; tests hold the two together.
"""

#: Formats that plans are written in, and programs (``EXPORTS``, ``PROGRAM_EXPORTS``).
EXPORTS = ("chrome", "chakra", "csv", "ddp", "deepspeed", "fsdp", "horovod")
PROGRAM_EXPORTS = ("chrome", "xla", "fsdp")


#: Formats that are read (``solver.traces.READERS``).
READERS = (
    "pipedream",
    "dnn_partitioning",
    "astra_text",
    "pytorch_et",
    "horovod",
    "xla",
    "tensorflow",
    "kineto",
    "chakra",
    "dlc",
)


#: What runs today, and the rules of today for programs (``POLICIES`` of both).
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
PROGRAM_POLICIES = ("in_order", "inductor", "simple_overlap", "xla_lhs")


#: The graph's own collectives in the order of their release, and programs in the graph's own order.
FIFO, IN_ORDER = "fifo", "in_order"


#: What may be drawn beside a plan; what is of programs alone, beside programs alone.
RIVALS = tuple(dict.fromkeys((FIFO, *POLICIES, *PROGRAM_POLICIES)))
