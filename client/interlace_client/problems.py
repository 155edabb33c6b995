"""A class for each code of the service's problems, in three sorts.

Made of the service's codes by ``python -m app.write_client``.
"""

from __future__ import annotations

from interlace_client.errors import ProblemError


class Temporary(ProblemError):
    """Later it may work: the client has tried again, as often as it may."""


class JobFailed(ProblemError):
    """The work itself failed; sent again it would fail again, unless something changes."""


class Refused(ProblemError):
    """The request is wrong as it is; the faults say where."""


class QueueFull(Temporary):
    """The service has as many jobs as it takes."""


class WorkersUnavailable(Temporary):
    """The service takes jobs, but works on none."""


class StorageUnavailable(Temporary):
    """The service's database cannot be used."""


class RateLimited(Temporary):
    """A key or an address asks more often, or an owner has more jobs waiting, than it may."""


class NoTurn(Temporary):
    """Other calls, the caller's own among them, keep all processes that answer such calls."""


class RequestTimeout(Temporary):
    """The request, or its body, came too slowly."""


class TimeLimit(JobFailed):
    """The job took longer than it may, and has nothing to show."""


class WorkerDied(JobFailed):
    """The process that did the work died."""


class OutOfMemory(JobFailed):
    """The work needs more memory than a job may take."""


class InternalError(JobFailed):
    """The server failed; its log says why."""


class NotHttp(Refused):
    """What was sent is no HTTP/1.1 request."""


class NotJson(Refused):
    """The body is not JSON. A file is not JSON."""


class DuplicateKey(Refused):
    """An object of the body has a key twice."""


class NotMultipart(Refused):
    """The body says that it is a form, and is none."""


class IncompleteBody(Refused):
    """The request's body ended before it was whole."""


class HttpError(Refused):
    """The status, this or another one, says all that is known; a proxy may have answered."""


class Unauthenticated(Refused):
    """The service wants an API key, and what was sent is none, or is none any more."""


class Forbidden(Refused):
    """The API key is not good for this."""


class QuotaUsedUp(Refused):
    """The key's owner has stored, or had worked on today, as much as it may."""


class NotFound(Refused):
    """Nothing has that name, or not any more."""


class MethodNotAllowed(Refused):
    """There is no such method at this path."""


class HostNotAllowed(Refused):
    """The service is not called by the name that the request is addressed to."""


class OriginNotAllowed(Refused):
    """A page of another origin may not use the service."""


class RequestHeaderMissing(Refused):
    """What a form of any page could send needs the header X-Interlace-Request."""


class NotInstalled(Refused):
    """The service was installed without what this takes."""


class NoResult(Refused):
    """The job has no result, or none yet."""


class InUse(Refused):
    """A job that has not ended needs it."""


class RunEnded(Refused):
    """The run has ended; nothing is added to it."""


class TooLarge(Refused):
    """The body is longer than the service reads. A file holds more than is read."""


class UnsupportedMediaType(Refused):
    """The body is not declared as what it must be."""


class HeadersTooLarge(Refused):
    """The head of the request is too long."""


class UnknownTransferEncoding(Refused):
    """The service does not know that transfer encoding."""


class MissingField(Refused):
    """A field is missing."""


class ExtraField(Refused):
    """A field is not known, or does not go with another one."""


class WrongType(Refused):
    """A value is of the wrong type."""


class OutOfRange(Refused):
    """A value is not in the range that it must be in."""


class TooManyFaults(Refused):
    """So much is wrong that not all of it was looked for."""


class Cycle(Refused):
    """Ops wait for each other in a circle."""


class SelfLoop(Refused):
    """An op waits for itself."""


class UnknownOp(Refused):
    """An op is named that the graph does not have."""


class DuplicateId(Refused):
    """Two things have the same name."""


class NoCompute(Refused):
    """The graph has no compute op."""


class NoCollective(Refused):
    """There is nothing to send."""


class UnknownChannel(Refused):
    """A channel is named that is not there, or carries nothing."""


class UnknownLink(Refused):
    """A link is named that the cluster does not have."""


class UnknownNode(Refused):
    """A node is named that the topology does not have."""


class NotMeasured(Refused):
    """The cost model says nothing of this cluster."""


class NotAllReduce(Refused):
    """The algorithm describes the all-reduce alone."""


class NotLayered(Refused):
    """What was asked for is defined only where no collective follows another."""


class SlotTooSmall(Refused):
    """The slots are too many."""


class FreeOrder(Refused):
    """A stream has no given order, which what was asked for needs."""


class Infeasible(Refused):
    """A schedule breaks a rule of the graph."""


class MixedBucket(Refused):
    """A bucket holds tensors that cannot travel together."""


class Deadlock(Refused):
    """The launches wait for each other."""


class NoAllReduce(Refused):
    """The plan holds nothing that the tool could sum."""


class NotDataParallel(Refused):
    """The tool sums whole gradients; the graph shards them."""


class NotSharded(Refused):
    """The graph is not that of fully sharded data parallelism."""


class NoForm(Refused):
    """The format has no form for what the plan sends."""


class NoParameterNames(Refused):
    """Tensors do not have the names of parameters."""


class WrongFormat(Refused):
    """A file or text is not of its format."""


class UnknownFormat(Refused):
    """No reader knows this text."""


class Empty(Refused):
    """A file is empty, or there is none."""


class Truncated(Refused):
    """A file ends in the middle."""


class NotText(Refused):
    """A file is not text."""


class TooDeep(Refused):
    """The JSON is nested too deeply."""


class TooManyFiles(Refused):
    """The format takes fewer files."""


class TooManyStreams(Refused):
    """A trace has more streams than are read."""


class NoSizes(Refused):
    """The files do not say how large the tensors are."""


class NoTimes(Refused):
    """Nothing says how long the instructions of a program take."""


class NoKernels(Refused):
    """The files have the calls of launches, and not their kernels."""


class NoBackward(Refused):
    """The files hold no backward pass."""


class NotSupported(Refused):
    """The file holds what its reader cannot read."""


class RanksDiffer(Refused):
    """The ranks' files do not belong together."""


class TracesDiffer(Refused):
    """Two files of a pair do not belong together."""


class Unpaired(Refused):
    """A node of the forward pass has none of the backward pass."""


class MixedClusters(Refused):
    """Measurements of several clusters are put together."""


class UnknownKind(Refused):
    """A benchmark does not tell which collective it measured."""


class NotCompared(Refused):
    """Fewer than two algorithms were measured at one size."""


class NoCost(Refused):
    """No cost follows: a log holds no times of launches, or impossible ones."""


class TooFewSizes(Refused):
    """A fit needs measurements of more sizes."""


class TooManySizes(Refused):
    """A table takes fewer sizes."""


class UnknownGraph(Refused):
    """No stored graph has this id."""


class UnknownCostModel(Refused):
    """No stored cost model has this id."""


class UnknownPlan(Refused):
    """No stored plan has this id, or the run has no such plan."""


class StepReported(Refused):
    """The step was reported before, with other figures."""


class IdempotencyKeyReused(Refused):
    """The key was used before, for another request."""


class NotGzip(Refused):
    """A file begins like gzip and is none."""


class NotPlannable(Refused):
    """The files hold no times to plan with."""


#: The class of each code; another code is a plain ProblemError.
PROBLEMS: dict[str, type[ProblemError]] = {
    "queue_full": QueueFull,
    "workers_unavailable": WorkersUnavailable,
    "storage_unavailable": StorageUnavailable,
    "rate_limited": RateLimited,
    "no_turn": NoTurn,
    "request_timeout": RequestTimeout,
    "time_limit": TimeLimit,
    "worker_died": WorkerDied,
    "out_of_memory": OutOfMemory,
    "internal_error": InternalError,
    "not_http": NotHttp,
    "not_json": NotJson,
    "duplicate_key": DuplicateKey,
    "not_multipart": NotMultipart,
    "incomplete_body": IncompleteBody,
    "http_error": HttpError,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "quota_used_up": QuotaUsedUp,
    "not_found": NotFound,
    "method_not_allowed": MethodNotAllowed,
    "host_not_allowed": HostNotAllowed,
    "origin_not_allowed": OriginNotAllowed,
    "request_header_missing": RequestHeaderMissing,
    "not_installed": NotInstalled,
    "no_result": NoResult,
    "in_use": InUse,
    "run_ended": RunEnded,
    "too_large": TooLarge,
    "unsupported_media_type": UnsupportedMediaType,
    "headers_too_large": HeadersTooLarge,
    "unknown_transfer_encoding": UnknownTransferEncoding,
    "missing_field": MissingField,
    "extra_field": ExtraField,
    "wrong_type": WrongType,
    "out_of_range": OutOfRange,
    "too_many_faults": TooManyFaults,
    "cycle": Cycle,
    "self_loop": SelfLoop,
    "unknown_op": UnknownOp,
    "duplicate_id": DuplicateId,
    "no_compute": NoCompute,
    "no_collective": NoCollective,
    "unknown_channel": UnknownChannel,
    "unknown_link": UnknownLink,
    "unknown_node": UnknownNode,
    "not_measured": NotMeasured,
    "not_all_reduce": NotAllReduce,
    "not_layered": NotLayered,
    "slot_too_small": SlotTooSmall,
    "free_order": FreeOrder,
    "infeasible": Infeasible,
    "mixed_bucket": MixedBucket,
    "deadlock": Deadlock,
    "no_all_reduce": NoAllReduce,
    "not_data_parallel": NotDataParallel,
    "not_sharded": NotSharded,
    "no_form": NoForm,
    "no_parameter_names": NoParameterNames,
    "wrong_format": WrongFormat,
    "unknown_format": UnknownFormat,
    "empty": Empty,
    "truncated": Truncated,
    "not_text": NotText,
    "too_deep": TooDeep,
    "too_many_files": TooManyFiles,
    "too_many_streams": TooManyStreams,
    "no_sizes": NoSizes,
    "no_times": NoTimes,
    "no_kernels": NoKernels,
    "no_backward": NoBackward,
    "not_supported": NotSupported,
    "ranks_differ": RanksDiffer,
    "traces_differ": TracesDiffer,
    "unpaired": Unpaired,
    "mixed_clusters": MixedClusters,
    "unknown_kind": UnknownKind,
    "not_compared": NotCompared,
    "no_cost": NoCost,
    "too_few_sizes": TooFewSizes,
    "too_many_sizes": TooManySizes,
    "unknown_graph": UnknownGraph,
    "unknown_cost_model": UnknownCostModel,
    "unknown_plan": UnknownPlan,
    "step_reported": StepReported,
    "idempotency_key_reused": IdempotencyKeyReused,
    "not_gzip": NotGzip,
    "not_plannable": NotPlannable,
}
