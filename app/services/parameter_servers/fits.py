"""A request whose links and receivers are fitted to its own recorded steps."""

from collections.abc import Iterator

from app.errors import InvalidRequest, within
from app.schemas.parameter_servers import FITTED_FIELDS, ParameterServerRequest
from solver.errors import InvalidSteps
from solver.parameter_server.fit import TransferFit, fit_transfers


def with_fit(request: ParameterServerRequest) -> tuple[ParameterServerRequest, list[str]]:
    """Fill in the bandwidth, the parsing and the window that recorded transfers show.

    Returns
    -------
    ParameterServerRequest
        Where it asks for a fit, the same with what it does not say itself; else as it is.
    list of str
        What was fitted, and how far the recorded transfers end from where they then should.

    Raises
    ------
    InvalidRequest
        When no transfer has its times.
    """
    if not request.fit:
        return request, []
    given = set(FITTED_FIELDS) & request.model_fields_set
    try:
        fit = fit_transfers([step.recorded() for step in request.steps or ()])
    except InvalidSteps as error:
        raise InvalidRequest(within("steps", error.faults)) from error
    fields = {
        "bandwidths_gbps": [fit.bandwidth_gbps],
        "parse_us_per_byte": fit.parse_us_per_byte,
        "parse_us": fit.parse_us,
        "flow_control": fit.win_bytes is not None,
    }
    if fit.win_bytes is not None:
        fields["win_bytes"] = fit.win_bytes
    if {"win_bytes", "flow_control"} & given:
        del fields["flow_control"]
        fields.pop("win_bytes", None)
    kept = {field: value for field, value in fields.items() if field not in given}
    return request.model_copy(update=kept), list(_sentences(fit))


def _sentences(fit: TransferFit) -> Iterator[str]:
    window = "no window" if fit.win_bytes is None else f"a window of {fit.win_bytes:,} bytes"
    yield (
        f"Fitted to recorded transfers: {fit.bandwidth_gbps:.4g} Gbit/s, {window}; parsing takes "
        f"{fit.parse_us_per_byte:.3g} us a byte and {fit.parse_us:.3g} us a transfer. Links were "
        f"busy {fit.latency_us:,.0f} us longer each time, which is not simulated."
    )
    for errors in fit.errors:
        yield (
            f"{errors.transfers:,} recorded transfers on the {errors.direction} end so far from "
            f"where they should: {100 * errors.mean:.2f} % of their end in the mean, "
            f"{100 * errors.median:.2f} % in the median, {100 * errors.p95:.2f} % at the 95th "
            f"percentile, {100 * errors.most:.2f} % at most."
        )
