"""Files of another tool, read."""

import json

from app.jobs.tasks.report import TaskFollower
from app.jobs.tasks.work import Done, Inputs
from app.limits import JOB_TIME_LIMIT_S
from app.reading.traces import FORMAT, own_cluster, parameters_of, read_files
from app.services.graphs import import_answer
from app.storage.graphs import id_of, new_graph
from solver.traces import TraceOptions


def run(inputs: Inputs, report: TaskFollower) -> Done:
    """Read files."""
    options = json.loads(inputs.body)
    report.progress("import")
    parameters = parameters_of(options["parameters"])
    what = TraceOptions(
        options["name"], options["step"], parameters, options.get("rank"), options.get("device")
    )
    trace = read_files(inputs.files, options["format"], what)
    own = own_cluster(inputs.files[0]) if trace.report.format == FORMAT else None
    answer = import_answer(trace, what, own)
    graph = None
    if trace.graph is not None and answer.graph_id is not None:
        graph_id = id_of(answer.graph_id, inputs.caller)
        answer = answer.model_copy(update={"graph_id": graph_id})
        graph = new_graph(trace.graph, answer)
    name = trace.graph.name if trace.graph else options["name"]
    report.describe(name, JOB_TIME_LIMIT_S)
    return Done(answer.model_dump_json(), {"graph_id": answer.graph_id}, graph)
