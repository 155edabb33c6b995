"""A prediction of training through parameter servers, made."""

from app.jobs.tasks.report import TaskFollower
from app.jobs.tasks.work import Done, Inputs
from app.reading.requests import read_body
from app.schemas.parameter_servers import ParameterServerRequest
from app.services.parameter_servers import run as parameter_servers


def run(inputs: Inputs, report: TaskFollower) -> Done:
    """Predict."""
    graph, request = read_body(inputs.body, ParameterServerRequest, inputs.library)
    report.describe(request.own_name or (graph.name if graph else ""), request.asked_s)
    answer = parameter_servers.run(
        graph, request, lambda done, many: report.progress("rows", done, many)
    )
    return Done(answer.model_dump_json(), {"rows": len(answer.rows)})
