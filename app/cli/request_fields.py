"""The fields of requests, for the help of their flags.

Made of the models of requests by ``python -m app.write_fields``.
"""

from app.cli.request_field import RequestField

#: The objects of the request that a command makes: how paths of their fields begin, their models.
REQUESTS: dict[str, dict[str, str]] = {
    "plan": {
        "": "PlanRequest",
        "cluster.": "ClusterBody",
        "believed.": "BelievedBody",
        "options.": "OptionsBody",
    },
    "simulate": {
        "": "SimulationRequest",
        "cluster.": "ClusterBody",
        "believed.": "BelievedBody",
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
        "believed.": "BelievedBody",
        "options.": "SweptOptions",
    },
    "parameter-server": {
        "": "ParameterServerRequest",
    },
    "placements": {
        "": "PlacementsRequest",
        "cluster.": "ClusterBody",
    },
    "shape": {
        "": "ShapeRequest",
    },
    "mix": {
        "": "MixRequest",
    },
    "allocate": {
        "": "AllocationRequest",
        "topology.": "TopologyBody",
        "job.": "AllocatedJobBody",
    },
    "calibrate": {
        "": "CostModelRequest",
    },
}


#: The fields of these.
FIELDS: dict[str, RequestField] = {
    "AllocatedJobBody.compute_us": RequestField(
        "In the place of a graph",
        least=1,
        most=1000000000000.0,
    ),
    "AllocatedJobBody.gpu": RequestField(
        "Known, or figures",
    ),
    "AllocatedJobBody.gpus_per_node": RequestField(
        "Null for all of a node",
        least=1,
        most=1024,
    ),
    "AllocatedJobBody.gradient_bytes": RequestField(
        "Beside it",
        least=8,
        most=1125899906842624,
    ),
    "AllocatedJobBody.graph": RequestField(
        "Its iteration, data-parallel over all ranks, or an example's name",
    ),
    "AllocatedJobBody.model": RequestField(
        "Of a shape",
    ),
    "AllocatedJobBody.nodes": RequestField(
        "Nodes that it needs",
        least=1,
        most=100000,
    ),
    "AllocatedJobBody.offset_us": RequestField(
        "When its first iteration begins, of simulated ones",
        least=0,
        most=1000000000.0,
        default="0.0",
    ),
    "AllocatedJobBody.period_us": RequestField(
        "A period at which it is held, as hold_phase does",
        least=0,
        most=1000000000000.0,
        is_open=True,
    ),
    "AllocatedJobBody.policy": RequestField(
        "What launches a graph",
        choices=(
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
        ),
        default="ddp",
    ),
    "AllocatedJobBody.price_per_gpu_hour": RequestField(
        "In any currency",
        least=0,
        most=1000000000.0,
        default="1.0",
    ),
    "AllocatedJobBody.priority": RequestField(
        "Its class on all links, where the network has classes",
        least=0,
        most=7,
        default="0",
    ),
    "AllocatedJobBody.shape": RequestField(
        "How the model is split",
    ),
    "AllocatedJobBody.weight": RequestField(
        "How much its slow-down counts",
        least=0,
        most=1000000000.0,
        is_open=True,
        default="1.0",
    ),
    "AllocationRequest.candidates": RequestField(
        "Node sets to rank",
    ),
    "AllocationRequest.count": RequestField(
        "How many are returned",
        least=1,
        most=2000,
        default="10",
    ),
    "AllocationRequest.free": RequestField(
        "Nodes that the job may take",
    ),
    "AllocationRequest.has_cluster": RequestField(
        "Whether the answer has the cluster, and how much of each link is used with and without "
        "the job",
    ),
    "AllocationRequest.job": RequestField(
        "",
    ),
    "AllocationRequest.moves": RequestField(
        "Mappings to try",
        least=0,
        most=100000,
        default="400",
    ),
    "AllocationRequest.objective": RequestField(
        "Mean slow-down of all jobs, the worst, the mean by weight, or the money that GPUs cost in"
        " an hour while they wait",
        choices=(
            "mean",
            "worst",
            "weighted",
            "money",
        ),
        default="mean",
    ),
    "AllocationRequest.running": RequestField(
        "",
    ),
    "AllocationRequest.simulated": RequestField(
        "How many of the best are simulated beside running jobs",
        least=0,
        most=100,
        default="30",
    ),
    "AllocationRequest.topology": RequestField(
        "",
    ),
    "BelievedBody.bandwidth_factor": RequestField(
        "It is believed to have so many times the bandwidth",
        least=0.001,
        most=1000.0,
        default="1",
    ),
    "BelievedBody.bandwidth_spread": RequestField(
        "The same of the bandwidth",
        least=0,
        most=10.0,
        default="0",
    ),
    "BelievedBody.cluster": RequestField(
        "The cluster that is believed",
    ),
    "BelievedBody.compute_factor": RequestField(
        "Compute is believed to take so many times as long",
        least=0.001,
        most=1000.0,
        default="1",
    ),
    "BelievedBody.compute_spread": RequestField(
        "The same of compute",
        least=0,
        most=10.0,
        default="0",
    ),
    "BelievedBody.seed": RequestField(
        "Seed of the draws",
        least=0,
        most=4294967295,
        default="0",
    ),
    "BelievedBody.startup_factor": RequestField(
        "It is believed to have so many times the start-up",
        least=0.001,
        most=1000.0,
        default="1",
    ),
    "BelievedBody.startup_spread": RequestField(
        "The factor is drawn, log-normal about what is said",
        least=0,
        most=10.0,
        default="0",
    ),
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
        "Factor by which compute takes longer while any launch is under way, since both share "
        "cores or memory",
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
    "ClusterBody.launch_slowdown": RequestField(
        "Factor by which the bytes of its launches take longer while a rank computes that has "
        "compute directly before or after a collective on it",
        least=1,
        most=100.0,
        default="1",
    ),
    "ClusterBody.line_rate_share": RequestField(
        "Share of bandwidth_gbps that the transport reaches",
        least=0.001,
        most=1,
        default="1",
    ),
    "ClusterBody.links": RequestField(
        "What several channels may cross",
    ),
    "ClusterBody.negotiation_us_per_worker": RequestField(
        "What each launch takes more for each worker, as workers agree on what is ready",
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
    "ClusterBody.path": RequestField(
        "Links of `cluster.links` that its launches cross",
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
    "ClusterBody.priority": RequestField(
        "Its class on these links",
        least=0,
        most=7,
        default="0",
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
        "Any name for the network card that carries it",
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
    "CostModelRequest.bandwidth_gbps": RequestField(
        "Bandwidth between two workers at the measurement",
        least=1e-06,
        most=1000000.0,
    ),
    "CostModelRequest.fit": RequestField(
        "",
        choices=(
            "best",
            "linear",
            "piecewise",
            "table",
        ),
        default="best",
    ),
    "CostModelRequest.format": RequestField(
        "Format of the text",
        choices=(
            "auto",
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
        ),
        default="auto",
    ),
    "CostModelRequest.kind": RequestField(
        "Collective of samples, and of texts that do not say theirs",
        choices=(
            "all_reduce",
            "all_gather",
            "reduce_scatter",
            "broadcast",
            "all_to_all",
            "send_recv",
        ),
    ),
    "CostModelRequest.kinds": RequestField(
        "The same of each of texts, in their order",
        choices=(
            "all_reduce",
            "all_gather",
            "reduce_scatter",
            "broadcast",
            "all_to_all",
            "send_recv",
        ),
    ),
    "CostModelRequest.mixed": RequestField(
        "Take runs that differ in ranks, devices or machines for one",
    ),
    "CostModelRequest.model": RequestField(
        "Figures that are known",
    ),
    "CostModelRequest.name": RequestField(
        "",
    ),
    "CostModelRequest.samples": RequestField(
        "Measured all-reduces",
    ),
    "CostModelRequest.text": RequestField(
        "What nccl-tests (all_reduce_perf, all_gather_perf, ...), OSU, Intel MPI Benchmarks, "
        "oneCCL or mscclpp-test printed",
    ),
    "CostModelRequest.texts": RequestField(
        "Several such, of one cluster",
    ),
    "CostModelRequest.threshold_bytes": RequestField(
        "Where the second piece of piecewise begins",
        least=1,
        most=1152921504606846976,
    ),
    "CostModelRequest.workers": RequestField(
        "Workers that it was measured with",
        least=1,
        most=1000000,
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
    "MixRequest.bins": RequestField(
        "Of each link's use over time",
        least=1,
        most=1000,
        default="60",
    ),
    "MixRequest.effort": RequestField(
        "Runs that a plan is sought with",
        least=0,
        most=5000,
        default="600",
    ),
    "MixRequest.has_classes": RequestField(
        "Whether links serve higher classes first",
    ),
    "MixRequest.iterations": RequestField(
        "Of each job in a run, where no pattern repeats before",
        least=1,
        most=1000,
        default="20",
    ),
    "MixRequest.jobs": RequestField(
        "",
    ),
    "MixRequest.links": RequestField(
        "What jobs share, by name",
    ),
    "MixRequest.objective": RequestField(
        "Which slow-down a plan makes least",
        choices=(
            "mean",
            "worst",
        ),
        default="mean",
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
    "OptionsBody.draws": RequestField(
        "How many draws robust takes",
        least=1,
        most=1000,
    ),
    "OptionsBody.effort": RequestField(
        "Multiplies the moves of the search",
        least=1,
        most=100,
        default="1",
    ),
    "OptionsBody.fusion": RequestField(
        "",
        choices=(
            "joint",
            "maxmin",
            "maxmin_momentum",
            "none",
        ),
        default="joint",
    ),
    "OptionsBody.host_order": RequestField(
        "Plan a program, what one rank's host asks for in order, whatever the graph is",
    ),
    "OptionsBody.inputs_held": RequestField(
        "Until when what a launch reads is held in memory",
        choices=(
            "wait",
            "launch",
        ),
    ),
    "OptionsBody.launch_tolerance": RequestField(
        "joint answers with the plan of fewest launches that it finds to take at most this share "
        "longer than the best one",
        least=0,
        most=0.1,
        default="0.001",
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
    "OptionsBody.prove_s": RequestField(
        "Once the plan is there its bound is raised for so long, as counted in work that takes "
        "about that on a core of 2023",
        least=0,
        most=600,
        default="0",
    ),
    "OptionsBody.recompute": RequestField(
        "Ops of compute that may run twice where --memory-limit-gib costs time",
    ),
    "OptionsBody.robust": RequestField(
        "Choose the plan by the mean or p95 of its times over seeded draws of start-up, bandwidth,"
        " launches and compute, of a program those of each op and launch, too",
        choices=(
            "mean",
            "p95",
        ),
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
        "After so much CPU time, or twice that on the clock, a watchdog has the best plan so far "
        "answered, with the warning search_cut_short",
        least=0,
        most=600,
        is_open=True,
        default="60",
    ),
    "ParameterServerRequest.bandwidths_gbps": RequestField(
        "Bandwidths of each server's and each worker's interface, in each direction",
        least=1e-06,
        most=1000000.0,
    ),
    "ParameterServerRequest.batch_size": RequestField(
        "Examples of a worker's step",
        least=1,
        most=1000000000,
    ),
    "ParameterServerRequest.dropped_steps": RequestField(
        "So many steps a worker are not counted at the start",
        least=0,
        most=50000,
        default="50",
    ),
    "ParameterServerRequest.explain": RequestField(
        "Run each row again with each resource faster",
    ),
    "ParameterServerRequest.fit": RequestField(
        "Fit the bandwidth, parsing and the window of flow control to the times of recorded "
        "transfers, but for what the request says",
    ),
    "ParameterServerRequest.flow_control": RequestField(
        "A transfer beyond win_bytes is done in two services, as HTTP/2 does",
    ),
    "ParameterServerRequest.graph": RequestField(
        "Instead of steps",
    ),
    "ParameterServerRequest.graph_id": RequestField(
        "Instead of a graph",
    ),
    "ParameterServerRequest.name": RequestField(
        "Of what is trained",
    ),
    "ParameterServerRequest.order": RequestField(
        "In which order the transfers leave that are ready when a step starts",
        choices=(
            "fifo",
            "tic",
            "reverse",
            "random",
        ),
        default="fifo",
    ),
    "ParameterServerRequest.parse_us": RequestField(
        "Time to parse any transfer, besides",
        least=0,
        most=1000000000.0,
        default="0",
    ),
    "ParameterServerRequest.parse_us_per_byte": RequestField(
        "Time to parse a byte that was received, on the receiver",
        least=0,
        most=1000.0,
        default="0",
    ),
    "ParameterServerRequest.seed": RequestField(
        "Seed of all draws",
        least=0,
        most=4294967295,
        default="0",
    ),
    "ParameterServerRequest.servers": RequestField(
        "Over how many servers the tensors of a graph are spread",
        least=1,
        most=16,
        default="1",
    ),
    "ParameterServerRequest.simulated_steps": RequestField(
        "Steps of a worker",
        least=1,
        most=100000,
        default="1000",
    ),
    "ParameterServerRequest.spread": RequestField(
        "Standard deviation of a factor of mean 1 on the compute of each step of each worker",
        least=0,
        most=10.0,
    ),
    "ParameterServerRequest.steps": RequestField(
        "Profiled steps of one worker alone",
    ),
    "ParameterServerRequest.synchronous": RequestField(
        "All workers begin a step when all have ended the one before",
    ),
    "ParameterServerRequest.update_us_per_byte": RequestField(
        "Time that a server takes to update a byte of a graph's tensor",
        least=0,
        most=1000.0,
        default="0",
    ),
    "ParameterServerRequest.win_bytes": RequestField(
        "Most bytes of a transfer's first service",
        least=1,
        most=1152921504606846976,
        default="28000000",
    ),
    "ParameterServerRequest.workers": RequestField(
        "Worker counts, distinct, in any order",
        least=1,
        most=1000,
        default="1, 2, 4, 8, 16",
    ),
    "PlacementsRequest.aggregate_gbytes_per_s": RequestField(
        "How fast a core sums the gradients of all workers and updates the model",
        least=1e-06,
        most=1000000000000.0,
    ),
    "PlacementsRequest.bandwidth_gbps": RequestField(
        "Of each network interface, each direction",
        least=1e-06,
        most=1000000.0,
    ),
    "PlacementsRequest.batch_time_us": RequestField(
        "Compute time of a step",
        least=1e-06,
        most=8640000000000.0,
    ),
    "PlacementsRequest.chunk_bytes": RequestField(
        "What keys are cut into",
        least=1,
        most=1152921504606846976,
        default="32768",
    ),
    "PlacementsRequest.chunk_sizes": RequestField(
        "Sizes of chunks with which an exchange of each simulated placement is simulated at "
        "bandwidth_gbps, to find the best",
        least=1,
        most=1152921504606846976,
    ),
    "PlacementsRequest.cluster": RequestField(
        "Instead of both, as other requests have it",
    ),
    "PlacementsRequest.cores_per_interface": RequestField(
        "Cores of an interface that sum and update chunks",
        least=1,
        most=100000,
        default="1",
    ),
    "PlacementsRequest.graph": RequestField(
        "Instead",
    ),
    "PlacementsRequest.graph_id": RequestField(
        "Instead",
    ),
    "PlacementsRequest.interfaces_per_server": RequestField(
        "Network interfaces of a host with a server",
        least=1,
        most=100000,
        default="1",
    ),
    "PlacementsRequest.jobs": RequestField(
        "Jobs that share one server, whose interfaces and theirs have bandwidth_gbps",
    ),
    "PlacementsRequest.keys": RequestField(
        "Instead",
    ),
    "PlacementsRequest.machine": RequestField(
        "What transfers pay besides their bytes, and cross",
    ),
    "PlacementsRequest.model_bytes": RequestField(
        "Size of the model, as one key",
        least=1,
        most=1152921504606846976,
    ),
    "PlacementsRequest.prices": RequestField(
        "What racks with and without a PHub are worth",
    ),
    "PlacementsRequest.racks": RequestField(
        "Whether racks had better reduce by themselves first",
    ),
    "PlacementsRequest.servers": RequestField(
        "Servers of a sharded placement",
        least=1,
        most=1000000,
    ),
    "PlacementsRequest.simulate": RequestField(
        "The placements whose exchange is simulated",
        choices=(
            "ncc",
            "cc",
            "ncs",
            "cs",
        ),
        default="ncc, cc, ncs, cs",
    ),
    "PlacementsRequest.simulated_transfers": RequestField(
        "Most pushes and pulls of a simulation",
        least=1,
        most=100000,
        default="10000",
    ),
    "PlacementsRequest.systems": RequestField(
        "Systems to simulate beside each other at bandwidth_gbps",
        choices=(
            "pbox",
            "pshard",
            "mxnet",
            "gloo_ring",
            "gloo_ring_chunked",
            "gloo_halving_doubling",
        ),
    ),
    "PlacementsRequest.workers": RequestField(
        "How many, or a cluster",
        least=1,
        most=1000000,
    ),
    "PlanRequest.believed": RequestField(
        "Costs that policies and plans are decided with",
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
        "Of the plans of all rows together, as of a plan",
        least=0,
        most=600,
        is_open=True,
        default="60",
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
    "ShapeRequest.count": RequestField(
        "How many of the best",
        least=1,
        most=1000,
        default="10",
    ),
    "ShapeRequest.cp": RequestField(
        "Ways of context parallelism",
        least=1,
        most=1048576,
        default="1",
    ),
    "ShapeRequest.efficiencies": RequestField(
        "Known figures of the machine, by name",
    ),
    "ShapeRequest.ep": RequestField(
        "Ways",
        least=1,
        most=1048576,
    ),
    "ShapeRequest.flash_attention": RequestField(
        "",
    ),
    "ShapeRequest.global_batch": RequestField(
        "Sequences of a step",
        least=1,
        most=1048576,
    ),
    "ShapeRequest.gpu": RequestField(
        "Its figures, or one of v100, a100, h100, h200, b200",
    ),
    "ShapeRequest.gpus": RequestField(
        "GPUs of the job",
        least=1,
        most=1048576,
    ),
    "ShapeRequest.gradient_bytes": RequestField(
        "2 or 4",
        least=2,
        most=4,
        default="4",
    ),
    "ShapeRequest.kernels": RequestField(
        "What sizes of multiplications reach",
    ),
    "ShapeRequest.launch": RequestField(
        "A program whose arguments the shapes are to have",
        choices=(
            "megatron",
            "torchtitan",
            "deepspeed",
        ),
    ),
    "ShapeRequest.levels": RequestField(
        "Networks from the innermost",
    ),
    "ShapeRequest.micro_batch": RequestField(
        "Sequences of a micro-batch",
        least=1,
        most=1048576,
        default="1, 2, 4, 8",
    ),
    "ShapeRequest.model": RequestField(
        "Its numbers, or a published one",
    ),
    "ShapeRequest.overlapped_buckets": RequestField(
        "Pieces in which a stage's gradients overlap",
        least=1,
        most=256,
        default="1",
    ),
    "ShapeRequest.planned": RequestField(
        "How many of the best are planned",
        least=0,
        most=10,
        default="1",
    ),
    "ShapeRequest.pp": RequestField(
        "Ways, at most 128",
        least=1,
        most=1048576,
    ),
    "ShapeRequest.precision": RequestField(
        "Of the matrix multiplications",
        default="bf16",
    ),
    "ShapeRequest.price_per_gpu_hour": RequestField(
        "In any currency",
        least=0,
        most=1000000000.0,
    ),
    "ShapeRequest.recomputations": RequestField(
        "",
        choices=(
            "none",
            "selective",
            "full",
        ),
        default="none, selective, full",
    ),
    "ShapeRequest.rows": RequestField(
        "Measured steps, to which the figures are fitted",
    ),
    "ShapeRequest.schedules": RequestField(
        "",
        choices=(
            "gpipe",
            "1f1b",
            "interleaved",
            "zero_bubble",
            "zb_v",
            "dualpipe",
        ),
        default="1f1b, interleaved",
    ),
    "ShapeRequest.sequence": RequestField(
        "Tokens of a sequence",
        least=1,
        most=100000000,
    ),
    "ShapeRequest.sequence_parallel": RequestField(
        "Beside tensor parallelism",
        default="True",
    ),
    "ShapeRequest.shardings": RequestField(
        "",
        choices=(
            "none",
            "optimizer",
            "gradients",
            "parameters",
        ),
        default="optimizer, parameters",
    ),
    "ShapeRequest.tp": RequestField(
        "Ways",
        least=1,
        most=1048576,
    ),
    "ShapeRequest.vpp": RequestField(
        "Chunks of an interleaved schedule",
        least=1,
        most=1048576,
        default="2, 4",
    ),
    "SimulatedOptions.copy_gbps": RequestField(
        "Speed of the copies into and out of buckets, of bytes read and written",
        least=0.001,
        most=1000000000.0,
    ),
    "SimulatedOptions.inputs_held": RequestField(
        "Until when what a launch reads is held in memory",
        choices=(
            "wait",
            "launch",
        ),
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
    "SimulationRequest.believed": RequestField(
        "Costs that policies and plans are decided with",
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
    "SweepRequest.believed": RequestField(
        "Costs that policies and plans are decided with",
    ),
    "SweepRequest.changes": RequestField(
        "What is swept is the graph with these ops changed",
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
    "SweepRequest.launch_tolerance": RequestField(
        "Plans are those of fewest launches that take at most this share longer than the best "
        "found",
        least=0,
        most=0.1,
        default="0",
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
        "A sweep that takes longer, its wait for the processes of another sweep included, ends "
        "with the cells that are done",
        least=0,
        most=3600,
        is_open=True,
        default="600",
    ),
    "SweepRequest.time_limit_s": RequestField(
        "Of the plan of each cell, as of a plan",
        least=0,
        most=60,
        is_open=True,
        default="10",
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
    "SweptOptions.inputs_held": RequestField(
        "Until when what a launch reads is held in memory",
        choices=(
            "wait",
            "launch",
        ),
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
    "TopologyBody.document": RequestField(
        "Slurm's `topology.yaml` as JSON, or what `kubectl get nodes -o json` or `kubectl get "
        "nodes,hypernodes -o json` prints",
    ),
    "TopologyBody.fat_tree": RequestField(
        "",
    ),
    "TopologyBody.gpus": RequestField(
        "Of nodes that do not say",
        least=1,
        most=1024,
    ),
    "TopologyBody.hop_us": RequestField(
        "Of each step of its ring",
        least=0,
        most=1000000000.0,
        default="0.0",
    ),
    "TopologyBody.level_gbps": RequestField(
        "Capacity of a link up from a level, such as node or leaf",
    ),
    "TopologyBody.levels": RequestField(
        "Names of levels of nodes, from node",
        default="node, leaf, spine, core",
    ),
    "TopologyBody.links": RequestField(
        "Capacities of single links, `below>above`, one way",
    ),
    "TopologyBody.node_gbps": RequestField(
        "Of a GPU to others of its node, one way",
        least=1e-06,
        most=1000000000.0,
    ),
    "TopologyBody.node_hop_us": RequestField(
        "Of each step of its ring",
        least=0,
        most=1000000000.0,
        default="0.0",
    ),
    "TopologyBody.node_startup_us": RequestField(
        "Of a launch in a node",
        least=0,
        most=1000000000.0,
        default="0.0",
    ),
    "TopologyBody.nodes": RequestField(
        "",
    ),
    "TopologyBody.oversubscription": RequestField(
        "By level, for links up whose capacity nothing else tells",
    ),
    "TopologyBody.rails": RequestField(
        "",
    ),
    "TopologyBody.slurm": RequestField(
        "Text of Slurm's `topology.conf`",
    ),
    "TopologyBody.startup_us": RequestField(
        "Of a launch across nodes",
        least=0,
        most=1000000000.0,
        default="0.0",
    ),
}
