"""A ranking of shapes for a reader: the best, the front, what is proven and assumed."""

from collections.abc import Iterator, Sequence

from app.cli.rendering.figures import counted
from app.cli.rendering.headlines import headline
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.shapes import ShapeAnswer, ShapeRow


def render(answer: ShapeAnswer) -> str:
    """Write a ranking as a page of text."""
    head = (
        f"{answer.model}, {answer.parameters / 1e9:,.2f} billion parameters, on "
        f"{counted(answer.gpus, 'GPU')}: {answer.shapes:,} shapes, {answer.too_large:,} of them "
        f"too large, {answer.simulated:,} simulated"
    )
    rest = [row for row in answer.front if row.name not in {each.name for each in answer.best}]
    return page(
        best_shape(answer),
        [head],
        [_rows(answer.best)] if answer.best else [],
        ["Slower, in less memory:", _rows(rest)] if rest else [],
        *(_plan(row) for row in answer.best),
        _launch(answer.best[0]) if answer.best else [],
        _machine(answer),
        answer.notes,
    )


def best_shape(answer: ShapeAnswer) -> Iterator[str]:
    """Say first which shape is the best, and how sure that is."""
    if not answer.best:
        yield "No shape fits."
        return
    best = answer.best[0]
    sure = "others may be faster"
    if answer.is_proven:
        sure = "no other shape of this space has a shorter simulated step, proven"
    yield f"Best: {best.name}, {_step(best)}, {100 * best.mfu:.1f} % MFU; {sure}."
    likeliest = min(answer.best, key=_expected_us)
    if _expected_us(likeliest) < _expected_us(best):
        yield f"By the rows {likeliest.name} may be faster: {_step(likeliest)}."
    yield best.why


def _expected_us(row: ShapeRow) -> float:
    return row.time_us if row.predicted_us is None else row.predicted_us


def _step(row: ShapeRow) -> str:
    """Say how long a step takes, and how that is known."""
    if row.predicted_us is None:
        return f"{row.time_us / 1e3:,.1f} ms a step by simulation alone"
    return f"{_predicted(row)} ms a step predicted"


def _predicted(row: ShapeRow) -> str:
    """Write a prediction with its interval [ms]."""
    interval = "no interval"
    if row.low_us is not None and row.high_us is not None:
        interval = f"{row.low_us / 1e3:,.1f} to {row.high_us / 1e3:,.1f}"
    return f"{_expected_us(row) / 1e3:,.1f} ({interval})"


def _rows(rows: Sequence[ShapeRow]) -> Line:
    has_prediction = any(row.predicted_us is not None for row in rows)
    has_price = any(row.price_per_billion_tokens is not None for row in rows)
    heads = ["shape", "step ms", "memory GiB", "bubble %", "exposed %"]
    if has_prediction:
        heads[1] = "simulated ms"
        heads.append("predicted ms (90 %)")
    heads += ["tokens/s/GPU", "MFU %"]
    if has_price:
        heads.append("price of 1e9 tokens")
    return table(heads, (list(_cells(row, has_prediction, has_price)) for row in rows))


def _cells(row: ShapeRow, has_prediction: bool, has_price: bool) -> Iterator[str]:
    yield row.name
    yield f"{row.time_us / 1e3:,.1f}"
    yield f"{row.memory_bytes / 2**30:,.1f}"
    yield f"{100 * row.bubble_us / row.time_us:.1f}"
    yield f"{100 * sum(each.us for each in row.exposed) / row.time_us:.1f}"
    if has_prediction and row.predicted_us is not None:
        yield f"{_predicted(row)}{' outside' if row.outside else ''}"
    yield f"{row.tokens_per_s_per_gpu:,.0f}"
    yield f"{100 * row.mfu:.1f}"
    if has_price and row.price_per_billion_tokens is not None:
        yield f"{row.price_per_billion_tokens:,.2f}"


def _plan(row: ShapeRow) -> Iterator[Line]:
    """Say what a plan of a shape's data-parallel communication gains, and what it sends."""
    if row.plan is None:
        return
    yield f"Inside {row.name}:"
    if row.plan.why_not is not None:
        yield row.plan.why_not
        return
    yield from headline(row.plan.headline)
    if row.plan.forward_prefetch is None:
        yield f"It sends gradients in {counted(len(row.plan.launches), 'launch', 'launches')}."
        return
    yield (
        f"FSDP2: {counted(len(row.plan.launches), 'unit')}, prefetch {row.plan.forward_prefetch} "
        f"forward, {row.plan.backward_prefetch} backward."
    )


def _launch(row: ShapeRow) -> Iterator[str]:
    """Give the arguments that run the best shape, and what they do not say."""
    if row.launch is None:
        return
    yield f"The first with {row.launch.program}:"
    *others, last = row.launch.arguments
    yield from (f"  {argument} \\" for argument in others)
    yield f"  {last}"
    if row.launch.config is not None:
        yield "The file that they name:"
        yield from (f"  {line}" for line in row.launch.config.splitlines())
    if row.launch.unsaid:
        yield f"They do not say: {'; '.join(row.launch.unsaid)}."


def _machine(answer: ShapeAnswer) -> Iterator[str]:
    """Say on what the machine's figures rest."""
    if not answer.rows:
        stated = [figure.name for figure in answer.figures if figure.is_determined]
        if stated:
            yield f"Stated of the machine: {', '.join(stated)}; the rest is assumed."
        return
    yield f"The machine's figures are fitted to {counted(answer.rows, 'measured step')}:"
    for figure in answer.figures:
        if figure.is_determined:
            yield f"  {figure.name} {figure.value:.4g} (+- {100 * figure.spread:.0f} %)"
    if answer.rows_error is not None:
        error = f"{100 * answer.rows_error:.1f} %"
        yield f"In the median a row is off by {error} as the others predict it."
