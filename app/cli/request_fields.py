"""The fields of requests, for the help of their flags.

Made of the models of requests by ``python -m app.write_fields``.
"""

from app.cli.request_field import RequestField

#: The objects of the request that a command makes: how paths of their fields begin, their models.
REQUESTS: dict[str, dict[str, str]] = {
    "plan": {
        "": "PlanRequest",
        "cluster.": "ClusterBody",
        "options.": "OptionsBody",
    },
    "simulate": {
        "": "SimulationRequest",
        "cluster.": "ClusterBody",
        "jitter.": "JitterBody",
        "options.": "SimulatedOptions",
    },
    "predict": {
        "": "PredictionRequest",
        "cluster.": "ClusterBody",
    },
    "sweep": {
        "": "SweepRequest",
        "cluster.": "ClusterBody",
        "options.": "SweptOptions",
    },
}


#: The fields of these.
FIELDS: dict[str, RequestField] = {
    "ClusterBody.algorithm": RequestField(
        "How the cost is computed",
        choices=(
            "ring",
            "recursive_doubling",
            "halving_doubling",
            "double_binary_tree",
            "hierarchical",
            "parameter_server",
            "in_network",
            "table",
        ),
        default="ring",
    ),
    "ClusterBody.bandwidth_gbps": RequestField(
        "Bandwidth between two workers, with hierarchical of a node's network card",
        least=1e-06,
        most=1000000.0,
    ),
    "ClusterBody.channels": RequestField(
        "Networks besides this one, by the name that ops give",
    ),
    "ClusterBody.compute_slowdown": RequestField(
        "While a launch is under way, on any channel, compute takes so many times as long as the "
        "graph says",
        least=1,
        most=100.0,
        default="1",
    ),
    "ClusterBody.cost_model": RequestField(
        "Instead of an algorithm and its figures",
    ),
    "ClusterBody.extrapolate": RequestField(
        "Scale a measured cost model to other workers or another bandwidth, as the steps and "
        "shares of a ring grow",
    ),
    "ClusterBody.hop_us": RequestField(
        "Fixed cost of each step of the algorithm",
        least=0,
        most=1000000000.0,
        default="0",
    ),
    "ClusterBody.node_bandwidth_gbps": RequestField(
        "hierarchical: bandwidth between two workers of a node",
        least=1e-06,
        most=1000000.0,
    ),
    "ClusterBody.node_hop_us": RequestField(
        "hierarchical: the same as hop_us, in the node",
        least=0,
        most=1000000000.0,
        default="0",
    ),
    "ClusterBody.node_workers": RequestField(
        "hierarchical: workers of a node",
        least=1,
        most=1000000,
    ),
    "ClusterBody.placement": RequestField(
        "",
        choices=(
            "ncc",
            "cc",
            "ncs",
            "cs",
        ),
        default="cs",
    ),
    "ClusterBody.reduction_gbps": RequestField(
        "Speed of adding two buffers",
        least=1e-06,
        most=1000000.0,
    ),
    "ClusterBody.shared_nic": RequestField(
        "hierarchical: the workers of a node share its network card",
    ),
    "ClusterBody.shares": RequestField(
        "The network card that carries it, by any name",
    ),
    "ClusterBody.startup_us": RequestField(
        "Fixed cost of one launch",
        least=0,
        most=1000000000.0,
        default="0",
    ),
    "ClusterBody.table": RequestField(
        "Measured points of the all-reduce for table",
    ),
    "ClusterBody.tables": RequestField(
        "The same for the other kinds of collective, by kind",
    ),
    "ClusterBody.workers": RequestField(
        "Data-parallel ranks",
        least=1,
        most=1000000,
        default="1",
    ),
    "JitterBody.rivals": RequestField(
        "Policies that run through the same iterations",
        default="wfbp",
    ),
    "JitterBody.runs": RequestField(
        "How many iterations",
        least=1,
        most=10000,
        default="100",
    ),
    "JitterBody.seed": RequestField(
        "Seed of the factors",
        least=0,
        most=4294967295,
        default="0",
    ),
    "JitterBody.spread": RequestField(
        "Standard deviation of each op's factor, log-normal with mean 1",
        least=0,
        most=10.0,
    ),
    "OptionsBody.barrier": RequestField(
        "The next forward pass waits for all collectives, as in PyTorch",
    ),
    "OptionsBody.baselines": RequestField(
        "Policies of today to compare with",
        default="wfbp, pace",
    ),
    "OptionsBody.copy_gbps": RequestField(
        "Speed of the copies into and out of buckets, of bytes read and written",
        least=0.001,
        most=1000000000.0,
    ),
    "OptionsBody.fusion": RequestField(
        "",
        choices=(
            "joint",
            "maxmin",
            "none",
        ),
        default="joint",
    ),
    "OptionsBody.host_order": RequestField(
        "Plan a program, what one rank's host asks for in order, whatever the graph is",
    ),
    "OptionsBody.margin_us": RequestField(
        "A launch is asked for no earlier than needed to end this long before what waits for it, "
        "where that costs no time",
        least=0,
        most=8640000000000.0,
    ),
    "OptionsBody.max_bucket_bytes": RequestField(
        "The most bytes of a bucket of several tensors",
        least=1,
        most=1152921504606846976,
    ),
    "OptionsBody.max_bytes_under_way": RequestField(
        "The most bytes of buckets that are launched and not waited for, but for one bucket alone",
        least=1,
        most=1152921504606846976,
    ),
    "OptionsBody.memory_limit_bytes": RequestField(
        "The most memory that buffers and buckets take at any instant",
        least=1,
        most=1152921504606846976,
    ),
    "OptionsBody.memory_limits_bytes": RequestField(
        "Several such limits",
        least=1,
        most=1152921504606846976,
    ),
    "OptionsBody.more_memory_bytes": RequestField(
        "Plan also with so much more than --memory-limit-gib, to say what that would save",
        least=1,
        most=1152921504606846976,
    ),
    "OptionsBody.schedule": RequestField(
        "",
        choices=(
            "jackson",
            "lp",
        ),
        default="jackson",
    ),
    "OptionsBody.seed": RequestField(
        "Seed of the random moves of joint",
        least=0,
        most=4294967295,
        default="0",
    ),
    "OptionsBody.slot_us": RequestField(
        "Length of a slot",
        least=1e-06,
        most=8640000000000.0,
    ),
    "OptionsBody.time_limit_s": RequestField(
        "After this time joint answers with the best plan so far",
        least=0,
        most=600,
        is_open=True,
        default="10",
    ),
    "PlanRequest.cluster": RequestField(
        "",
    ),
    "PlanRequest.graph": RequestField(
        "",
    ),
    "PlanRequest.graph_id": RequestField(
        "Instead of a graph",
    ),
    "PlanRequest.options": RequestField(
        "",
    ),
    "PlanRequest.what_if": RequestField(
        "What if these ops were changed",
    ),
    "PredictionRequest.batch_size": RequestField(
        "Samples of one worker's batch",
        least=1,
        most=1000000000,
    ),
    "PredictionRequest.buffers_bytes": RequestField(
        "Fusion buffers",
        least=0,
        most=1152921504606846976,
        default="0, 104857600",
    ),
    "PredictionRequest.cluster": RequestField(
        "",
    ),
    "PredictionRequest.graph": RequestField(
        "Instead of layers",
    ),
    "PredictionRequest.graph_id": RequestField(
        "Instead of a graph",
    ),
    "PredictionRequest.layers": RequestField(
        "The layers, the first of the forward pass first",
    ),
    "PredictionRequest.paper_eq15": RequestField(
        "A fusion buffer waits even while the channel is busy, as OSF prints its equation 15, "
        "against its text",
    ),
    "PredictionRequest.peak_flops": RequestField(
        "Peak of a worker",
        least=1,
        most=1e24,
    ),
    "PredictionRequest.time_limit_s": RequestField(
        "After this time the plans of all rows together are the best so far",
        least=0,
        most=600,
        is_open=True,
        default="10",
    ),
    "PredictionRequest.timeout_us": RequestField(
        "Longest time that a fusion buffer waits for the next layer, anew for each",
        least=0,
        most=8640000000000.0,
        default="5000",
    ),
    "PredictionRequest.utilisation": RequestField(
        "Share of the peak that is used",
        least=1e-06,
        most=1,
    ),
    "PredictionRequest.workers": RequestField(
        "Worker counts, a row for each",
        least=1,
        most=1000000,
    ),
    "SimulatedOptions.copy_gbps": RequestField(
        "Speed of the copies into and out of buckets, of bytes read and written",
        least=0.001,
        most=1000000000.0,
    ),
    "SimulatedOptions.max_bucket_bytes": RequestField(
        "The most bytes of a bucket of several tensors",
        least=1,
        most=1152921504606846976,
    ),
    "SimulatedOptions.max_bytes_under_way": RequestField(
        "The most bytes of buckets that are launched and not waited for, but for one bucket alone",
        least=1,
        most=1152921504606846976,
    ),
    "SimulatedOptions.memory_limit_bytes": RequestField(
        "The most memory that buffers and buckets take at any instant",
        least=1,
        most=1152921504606846976,
    ),
    "SimulationRequest.barrier": RequestField(
        "The next forward pass waits for all last collectives, as in PyTorch",
    ),
    "SimulationRequest.bins": RequestField(
        "Bins over the iteration for bandwidth use",
        least=1,
        most=10000,
        default="100",
    ),
    "SimulationRequest.cluster": RequestField(
        "",
    ),
    "SimulationRequest.graph": RequestField(
        "",
    ),
    "SimulationRequest.graph_id": RequestField(
        "Instead of a graph",
    ),
    "SimulationRequest.jitter": RequestField(
        "How the time spreads when ops do not keep theirs",
    ),
    "SimulationRequest.options": RequestField(
        "Of a program, else left out",
    ),
    "SimulationRequest.plan": RequestField(
        "Instead of a policy",
    ),
    "SimulationRequest.policy": RequestField(
        "The policy to simulate",
    ),
    "SimulationRequest.what_if": RequestField(
        "What if these ops were changed",
    ),
    "SweepRequest.bandwidths_gbps": RequestField(
        "Bandwidths of the network, distinct, in any order",
        least=1e-06,
        most=1000000.0,
    ),
    "SweepRequest.barrier": RequestField(
        "The next forward pass waits for all last collectives, as in PyTorch",
    ),
    "SweepRequest.cluster": RequestField(
        "What is the same in each cell, and where nothing is swept",
    ),
    "SweepRequest.graph": RequestField(
        "",
    ),
    "SweepRequest.graph_id": RequestField(
        "Instead of a graph",
    ),
    "SweepRequest.memory_limits_bytes": RequestField(
        "Limits of memory of a program, distinct, in any order",
        least=1,
        most=1152921504606846976,
    ),
    "SweepRequest.options": RequestField(
        "Of the programs of all cells, else left out",
    ),
    "SweepRequest.policies": RequestField(
        "Policies",
        default="wfbp, ddp, horovod, mg_wfbp, pace, plan",
    ),
    "SweepRequest.seed": RequestField(
        "Seed of the random moves of the plans",
        least=0,
        most=4294967295,
        default="0",
    ),
    "SweepRequest.startups_us": RequestField(
        "Start-ups of a launch on the network, distinct, in any order",
        least=0,
        most=1000000000.0,
    ),
    "SweepRequest.sweep_limit_s": RequestField(
        "A sweep that takes longer is given up and answered with an error, its wait for the "
        "processes of another sweep included",
        least=0,
        most=3600,
        is_open=True,
        default="600",
    ),
    "SweepRequest.time_limit_s": RequestField(
        "After this time a plan is the best found so far",
        least=0,
        most=60,
        is_open=True,
        default="2",
    ),
    "SweepRequest.workers": RequestField(
        "Worker counts, distinct, in any order",
        least=1,
        most=1000000,
    ),
    "SweptOptions.copy_gbps": RequestField(
        "Speed of the copies into and out of buckets, of bytes read and written",
        least=0.001,
        most=1000000000.0,
    ),
    "SweptOptions.margin_us": RequestField(
        "A launch is asked for no earlier than needed to end this long before what waits for it, "
        "where that costs no time",
        least=0,
        most=8640000000000.0,
    ),
    "SweptOptions.max_bucket_bytes": RequestField(
        "The most bytes of a bucket of several tensors",
        least=1,
        most=1152921504606846976,
    ),
    "SweptOptions.max_bytes_under_way": RequestField(
        "The most bytes of buckets that are launched and not waited for, but for one bucket alone",
        least=1,
        most=1152921504606846976,
    ),
}
