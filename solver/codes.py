"""Every code of a fault: the stable word for the rule that an input breaks, and a sentence."""

from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """A code of any sort; it is its word, and is written to JSON as that."""

    sentence: str

    def __new__(cls, word: str, sentence: str) -> Self:
        """Make the word the value, and keep the sentence beside it."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.sentence = sentence
        return member


class FaultCode(Code):
    """What the solver finds wrong with an input."""

    # fields of anything
    MISSING_FIELD = "missing_field", "A field is missing."
    EXTRA_FIELD = "extra_field", "A field is not known, or does not go with another one."
    WRONG_TYPE = "wrong_type", "A value is of the wrong type."
    OUT_OF_RANGE = "out_of_range", "A value is not in the range that it must be in."
    TOO_MANY_FAULTS = "too_many_faults", "So much is wrong that not all of it was looked for."

    # graphs
    CYCLE = "cycle", "Ops wait for each other in a circle."
    SELF_LOOP = "self_loop", "An op waits for itself."
    UNKNOWN_OP = "unknown_op", "An op is named that the graph does not have."
    DUPLICATE_ID = "duplicate_id", "Two things have the same name."
    NO_COMPUTE = "no_compute", "The graph has no compute op."
    NO_COLLECTIVE = "no_collective", "There is nothing to send."

    # clusters and costs
    UNKNOWN_CHANNEL = "unknown_channel", "A channel is named that is not there, or carries nothing."
    UNKNOWN_LINK = "unknown_link", "A link is named that the cluster does not have."
    UNKNOWN_NODE = "unknown_node", "A node is named that the topology does not have."
    NOT_MEASURED = "not_measured", "The cost model says nothing of this cluster."
    NOT_ALL_REDUCE = "not_all_reduce", "The algorithm describes the all-reduce alone."

    # options and plans
    NOT_LAYERED = (
        "not_layered",
        "What was asked for is defined only where no collective follows another.",
    )
    SLOT_TOO_SMALL = "slot_too_small", "The slots are too many."
    FREE_ORDER = "free_order", "A stream has no given order, which what was asked for needs."
    INFEASIBLE = "infeasible", "A schedule breaks a rule of the graph."
    MIXED_BUCKET = "mixed_bucket", "A bucket holds tensors that cannot travel together."
    DEADLOCK = "deadlock", "The launches wait for each other."
    NO_ALL_REDUCE = "no_all_reduce", "The plan holds nothing that the tool could sum."
    NOT_DATA_PARALLEL = "not_data_parallel", "The tool sums whole gradients; the graph shards them."
    NOT_SHARDED = "not_sharded", "The graph is not that of fully sharded data parallelism."
    NO_FORM = "no_form", "The format has no form for what the plan sends."
    NO_PARAMETER_NAMES = "no_parameter_names", "Tensors do not have the names of parameters."

    # files
    WRONG_FORMAT = "wrong_format", "A file or text is not of its format."
    UNKNOWN_FORMAT = "unknown_format", "No reader knows this text."
    EMPTY = "empty", "A file is empty, or there is none."
    TRUNCATED = "truncated", "A file ends in the middle."
    NOT_TEXT = "not_text", "A file is not text."
    NOT_JSON = "not_json", "A file is not JSON."
    TOO_DEEP = "too_deep", "The JSON is nested too deeply."
    TOO_LARGE = "too_large", "A file holds more than is read."
    TOO_MANY_FILES = "too_many_files", "The format takes fewer files."
    TOO_MANY_STREAMS = "too_many_streams", "A trace has more streams than are read."
    NO_SIZES = "no_sizes", "The files do not say how large the tensors are."
    NO_TIMES = "no_times", "Nothing says how long the instructions of a program take."
    NO_KERNELS = "no_kernels", "The files have the calls of launches, and not their kernels."
    NO_BACKWARD = "no_backward", "The files hold no backward pass."
    NOT_SUPPORTED = "not_supported", "The file holds what its reader cannot read."
    RANKS_DIFFER = "ranks_differ", "The ranks' files do not belong together."
    TRACES_DIFFER = "traces_differ", "Two files of a pair do not belong together."
    UNPAIRED = "unpaired", "A node of the forward pass has none of the backward pass."

    # measurements
    MIXED_CLUSTERS = "mixed_clusters", "Measurements of several clusters are put together."
    UNKNOWN_KIND = "unknown_kind", "A benchmark does not tell which collective it measured."
    NOT_COMPARED = "not_compared", "Fewer than two algorithms were measured at one size."
    NO_COST = "no_cost", "No cost follows: a log holds no times of launches, or impossible ones."
    TOO_FEW_SIZES = "too_few_sizes", "A fit needs measurements of more sizes."
    TOO_MANY_SIZES = "too_many_sizes", "A table takes fewer sizes."
