"""Where to put a job: the topology, the jobs, the node sets; and the ranking."""

from typing import Annotated, Any

from pydantic import Field

from app.limits import MAX_PRIORITY
from app.schemas.base import AnswerModel, Name, OneOf, RequestModel
from app.schemas.graphs import GraphBody
from app.schemas.shapes import AcceleratorBody, ShapeBody, TransformerBody
from solver.clusters.allocation import OBJECTIVES
from solver.clusters.mapping import MOVES
from solver.policies import POLICIES

Gbps = Annotated[float, Field(ge=1e-6, le=1e9)]
Ratio = Annotated[float, Field(ge=1e-3, le=1e6)]
Us = Annotated[float, Field(ge=0, le=1e9)]
Some = Annotated[int, Field(ge=1, le=100_000)]
Gpus = Annotated[int, Field(ge=1, le=1_024)]
NodeNames = Annotated[list[Name], Field(min_length=1, max_length=100_000)]

_NONE: list[Any] = []
_NOTHING: dict[str, Any] = {}


class FatTreeBody(RequestModel):
    """A fat tree: pods of racks of nodes."""

    pods: Some = 1
    racks: Annotated[Some, Field(description="Of a pod.")]
    nodes: Annotated[Some, Field(description="Of a rack.")]
    node_uplink_gbps: Annotated[Gbps, Field(description="All cards of a node, one way [Gbit/s].")]
    oversubscription: Annotated[
        Ratio, Field(description="What comes into a switch from below over what goes up.")
    ] = 1.0


class RailsBody(RequestModel):
    """Rails: card k of every node of a pod on rail k."""

    pods: Some = 1
    nodes: Annotated[Some, Field(description="Of a pod.")]
    cards: Annotated[Gpus, Field(description="Of a node: as many as GPUs.")]
    card_gbps: Annotated[Gbps, Field(description="Of a card, one way [Gbit/s].")]
    oversubscription: Annotated[
        Ratio, Field(description="What comes into a pod's rails over what goes up to the spine.")
    ] = 1.0


class ClusterNodeBody(RequestModel):
    """A node of the cluster."""

    name: Name
    gpus: Annotated[Gpus | None, Field(description="Null for `gpus` of the topology.")] = None
    above: Annotated[
        list[Name], Field(min_length=1, max_length=8, description="Switches from the nearest.")
    ]
    domain: Annotated[
        Name | None, Field(description="The NVLink domain that it shares with other nodes.")
    ] = None


#: Fields of a topology of which exactly one says it.
TOPOLOGY_FORMS = ("slurm", "document", "fat_tree", "rails", "nodes")


class TopologyBody(RequestModel):
    """Nodes, switches and links: one of six forms, and the figures that it does not tell."""

    slurm: Annotated[
        str | None, Field(max_length=16_000_000, description="Text of Slurm's `topology.conf`.")
    ] = None
    document: Annotated[
        Any,
        Field(
            description="Slurm's `topology.yaml` as JSON, or what `kubectl get nodes -o json` or "
            "`kubectl get nodes,hypernodes -o json` prints."
        ),
    ] = None
    fat_tree: FatTreeBody | None = None
    rails: RailsBody | None = None
    nodes: Annotated[list[ClusterNodeBody] | None, Field(max_length=100_000)] = None
    levels: Annotated[
        list[Name],
        Field(max_length=9, description="Names of levels of `nodes`, from `node`."),
    ] = Field(default=["node", "leaf", "spine", "core"])
    links: Annotated[
        dict[str, Gbps],
        Field(description="Capacities of single links, `below>above`, one way [Gbit/s]."),
    ] = _NOTHING
    gpus: Annotated[Gpus | None, Field(description="Of nodes that do not say; null for 8.")] = None
    node_gbps: Annotated[
        Gbps | None, Field(description="Of a GPU to others of its node, one way [Gbit/s].")
    ] = None
    level_gbps: Annotated[
        dict[str, Gbps],
        Field(description="Capacity of a link up from a level, such as `node` or `leaf` [Gbit/s]."),
    ] = _NOTHING
    oversubscription: Annotated[
        dict[str, Ratio],
        Field(description="By level, for links up whose capacity nothing else tells."),
    ] = _NOTHING
    startup_us: Annotated[Us, Field(description="Of a launch across nodes [us].")] = 0.0
    hop_us: Annotated[Us, Field(description="Of each step of its ring [us].")] = 0.0
    node_startup_us: Annotated[Us, Field(description="Of a launch in a node [us].")] = 0.0
    node_hop_us: Annotated[Us, Field(description="Of each step of its ring [us].")] = 0.0


class AllocatedJobBody(RequestModel):
    """A job: a graph, two figures, or a model and its shape."""

    nodes: Annotated[
        Some | None, Field(description="Nodes that it needs; a shape tells them itself.")
    ] = None
    gpus_per_node: Annotated[Gpus | None, Field(description="Null for all of a node.")] = None
    graph: Annotated[
        GraphBody | Name | None,
        Field(description="Its iteration, data-parallel over all ranks, or an example's name."),
    ] = None
    compute_us: Annotated[
        float | None,
        Field(
            ge=1,
            le=1e12,
            description="In the place of a graph: compute of a step [us], a third of it before the "
            "first gradient, the rest in 8 equal pieces.",
        ),
    ] = None
    gradient_bytes: Annotated[
        int | None, Field(ge=8, le=1 << 50, description="Beside it: bytes that a step sums.")
    ] = None
    policy: Annotated[str, OneOf(tuple(POLICIES)), Field(description="What launches a graph.")] = (
        "ddp"
    )
    model: Annotated[
        Name | TransformerBody | None, Field(description="Of a shape: published, or numbers.")
    ] = None
    gpu: Annotated[Name | AcceleratorBody | None, Field(description="Known, or figures.")] = None
    shape: Annotated[ShapeBody | None, Field(description="How the model is split.")] = None
    weight: Annotated[float, Field(gt=0, le=1e9, description="How much its slow-down counts.")] = (
        1.0
    )
    price_per_gpu_hour: Annotated[float, Field(ge=0, le=1e9, description="In any currency.")] = 1.0
    priority: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_PRIORITY,
            description="Its class on all links, where the network has classes: higher ones are "
            "served first.",
        ),
    ] = 0
    offset_us: Annotated[
        Us, Field(description="When its first iteration begins, of simulated ones [us].")
    ] = 0.0
    period_us: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e12,
            description="A period at which it is held, as `hold_phase` does [us]; null for a job "
            "that begins its next iteration at once.",
        ),
    ] = None


class RunningJobBody(AllocatedJobBody):
    """A job that runs."""

    name: Name
    on: Annotated[NodeNames, Field(description="Its nodes in the order of its ranks.")]


class AllocationRequest(RequestModel):
    """A job to be put on nodes, beside those that run."""

    topology: TopologyBody
    job: AllocatedJobBody
    running: Annotated[list[RunningJobBody], Field(max_length=1_000)] = _NONE
    free: Annotated[
        NodeNames | None,
        Field(description="Nodes that the job may take; null for all on which no job runs."),
    ] = None
    candidates: Annotated[
        list[NodeNames],
        Field(max_length=2_000, description="Node sets to rank; none to search the free nodes."),
    ] = _NONE
    objective: Annotated[
        str,
        OneOf(OBJECTIVES),
        Field(
            description="Mean slow-down of all jobs, the worst, the mean by weight, or the money "
            "that GPUs cost in an hour while they wait."
        ),
    ] = "mean"
    moves: Annotated[int, Field(ge=0, le=100_000, description="Mappings to try.")] = MOVES
    simulated: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="How many of the best are simulated beside running jobs; beyond the third "
            "only until all runs had 2,500,000 events times jobs, about a second.",
        ),
    ] = 30
    count: Annotated[int, Field(ge=1, le=2_000, description="How many are returned.")] = 10
    has_cluster: Annotated[
        bool,
        Field(
            description="Whether the answer has the cluster, and how much of each link is used "
            "with and without the job."
        ),
    ] = False


class SlowedJob(AnswerModel):
    """A job under an allocation."""

    name: Annotated[str, Field(description="Empty for the new job.")]
    alone_us: Annotated[float, Field(description="A step alone on its nodes [us].")]
    time_us: Annotated[float, Field(description="A step beside the others, in the mean [us].")]
    p95_us: Annotated[
        float | None,
        Field(
            description="What 95 of 100 simulated steps do not exceed [us]; null where estimated."
        ),
    ]
    slowdown: Annotated[
        float,
        Field(
            description="Of the new job over its fastest allocation alone, of others over alone."
        ),
    ]
    before: Annotated[
        float | None,
        Field(description="Its slow-down without the new job; null for the new job."),
    ]


class SharedLink(AnswerModel):
    """A link that the new job shares."""

    link: str
    jobs: list[str]


class ChangedLink(AnswerModel):
    """A link of which more or less is used with the new job."""

    link: str
    before: Annotated[float, Field(description="Share of its time in use without the job.")]
    use: Annotated[float, Field(description="Share of its time in use with it.")]


class DrawnSwitch(AnswerModel):
    """A switch, with what is next to it."""

    name: str
    level: str
    above: Annotated[str | None, Field(description="The switch above it; null for the topmost.")]
    nodes: Annotated[list[str], Field(description="Nodes of which it is the nearest switch.")]


class DrawnNode(AnswerModel):
    """A node, with the jobs that run on it."""

    name: str
    gpus: int
    domain: Annotated[str | None, Field(description="The NVLink domain that it is in.")]
    jobs: list[str]
    is_free: Annotated[bool, Field(description="Whether the new job could take it.")]


class DrawnLink(AnswerModel):
    """A link up, and how much of it is used by the jobs that run."""

    name: str
    level: Annotated[str, Field(description="Of what is below it: `node`, `leaf`, or `domain`.")]
    below: Annotated[str, Field(description="Node or switch.")]
    above: Annotated[str, Field(description="Switch or domain.")]
    capacity_gbps: Annotated[float, Field(description="One way [Gbit/s].")]
    use: Annotated[
        float,
        Field(
            description="Share of its time that jobs need, the busier way; of jobs of a shape "
            "what is exposed. Above 1 where steps are estimated shorter than the link allows."
        ),
    ]


class DrawnCluster(AnswerModel):
    """The cluster as it is before the job: levels, switches, nodes, links."""

    levels: Annotated[list[str], Field(description="From the innermost, `node` first.")]
    switches: Annotated[list[DrawnSwitch], Field(description="The topmost first.")]
    nodes: list[DrawnNode]
    links: list[DrawnLink]


class AllocationRow(AnswerModel):
    """A node set with its mapping, and what it makes of all jobs."""

    candidate: Annotated[int | None, Field(description="Its place among those given.")]
    rules: Annotated[list[str], Field(description="Rules of today that take the same nodes.")]
    nodes: Annotated[list[str], Field(description="In the order of ranks, a node's GPUs each.")]
    objective: float
    time_us: Annotated[float, Field(description="A step beside the jobs that run [us].")]
    alone_us: Annotated[float, Field(description="A step alone [us].")]
    jobs: Annotated[list[SlowedJob], Field(description="The new job first.")]
    shared: list[SharedLink]
    links: Annotated[
        list[ChangedLink] | None,
        Field(description="Links of which more or less is used, if `has_cluster` asked for them."),
    ]
    evidence: Annotated[str, Field(description="`simulated`, `estimated`, or `alone`.")]
    why: str


class RuleRow(AnswerModel):
    """What a rule of today takes."""

    name: str
    nodes: list[str]
    alone_us: Annotated[
        float | None, Field(description="A step alone [us]; null where its nodes are not joined.")
    ]


class AllocationAnswer(AnswerModel):
    """Ranked node sets of a job."""

    best: list[AllocationRow]
    sets: Annotated[int, Field(description="Node sets that were ranked.")]
    left_out: Annotated[list[int], Field(description="Candidates whose nodes are not joined.")]
    lower_bound_us: Annotated[
        float, Field(description="No mapping onto the free nodes is faster alone [us].")
    ]
    trust_below: Annotated[
        float | None,
        Field(
            description="How far nine of ten estimated slow-downs are from simulated ones at most, "
            "relative: sets whose slow-downs differ by less are not told apart by estimates; null "
            "where no set is estimated."
        ),
    ]
    undecided: Annotated[
        int,
        Field(
            description="Estimated sets that may be better than the first, if each slow-down is "
            "`trust_below` less: `simulated` of so many more would tell."
        ),
    ]
    rules: Annotated[list[RuleRow], Field(description="Rules of today on the free nodes, alone.")]
    moves: Annotated[int, Field(description="Mappings that were tried.")]
    cluster: Annotated[
        DrawnCluster | None, Field(description="The cluster, if `has_cluster` asked for it.")
    ]
    notes: Annotated[list[str], Field(description="What was assumed.")]
    version: str
