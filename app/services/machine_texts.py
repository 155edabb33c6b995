"""What an answer about placements says of machines, systems and money in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.schemas.placement_answer import RackChoice
from app.schemas.placements import PlacementsRequest
from app.services.placement_texts import figure
from solver.placements.collectives import can_run
from solver.placements.plan import Placements
from solver.placements.prices import WorkerValue
from solver.placements.systems import MXNET, PBOX, SystemTime
from solver.wording import ms

#: Resources as they are said.
_NAMES = {
    "worker_interfaces": "the interfaces of workers",
    "server_interfaces": "the interfaces of servers",
    "pcie": "PCIe of a host with a server",
    "memory": "the memory of a host with a server",
    "cores": "the cores that sum and update",
}


def machine_text(row: Mapping[str, Any], busy: Mapping[str, float], batch_us: float) -> str:
    """Say which resource limits a placement, and which comes next."""
    first, second = sorted(busy, key=lambda name: -busy[name])[:2]
    if not busy[first]:
        return "Nothing takes time: the one worker's host has the model."
    said = f"Limited by {_NAMES[first]}, busy for {ms(busy[first])} an exchange"
    if busy[second]:
        said += f"; next {_NAMES[second]}, {ms(busy[second])}"
    if row["is_hidden"]:
        return f"{said}. Hidden behind {ms(batch_us)} of compute."
    short = figure(busy[first] / batch_us)
    return f"{said}. Short by a factor of {short} for {ms(batch_us)} of compute."


def systems_text(systems: Sequence[SystemTime]) -> str:
    """Say which system takes the shortest step; of equal ones the one of fewer hosts, or first."""
    known = [(s.step_us, s.hosts, i, s) for i, s in enumerate(systems) if s.step_us is not None]
    if not known:
        return "None of the systems was simulated."
    step, _, _, best = min(known)
    alike = [s.system for _, _, _, s in known if s is not best and s.step_us == step]
    of = "" if len(known) == len(systems) else " of those simulated"
    said = f"{best.system} takes the shortest step{of}, {ms(step)}"
    if alike:
        return f"{said}, and so {'does' if len(alike) == 1 else 'do'} {', '.join(alike)}."
    if best is systems[0] or best.speedup is None:
        return f"{said}."
    return f"{said}, {figure(best.speedup)} times as fast as {systems[0].system}."


def money_text(baseline: WorkerValue, racks: Sequence[RackChoice]) -> str:
    """Pick a placement for money: the most samples for it; of equal ones the first."""
    best = max(racks, key=lambda rack: rack.gain)
    own = baseline.samples_per_s_per_1000_dollars
    if best.gain <= 0:
        less = f"{abs(best.gain) * 100:.1f} % less"
        return (
            f"Take cs, servers on the workers' hosts: {own:.2f} samples/s for 1000 dollars; the "
            f"best rack with a PHub, {best.oversubscription:g}:1, trains {less}."
        )
    return (
        f"Take ncc, a PHub for {best.workers_per_hub:g} workers and {best.oversubscription:g}:1 "
        f"oversubscription: {best.hub.samples_per_s_per_1000_dollars:.2f} samples/s for 1000 "
        f"dollars, {best.gain * 100:.1f} % more than cs on the workers' hosts, {own:.2f}."
    )


def machine_notes(request: PlacementsRequest, found: Placements) -> Iterator[str]:
    """Say what figures of a machine, of sizes of chunks and of systems assume."""
    if request.machine is not None:
        yield (
            "Formulas know of the machine what its links, cards and cores carry; start-ups, queue "
            "pairs and waits of cores are in simulations alone. A larger chunk of a simulation "
            "pays as often as the chunks that it stands for."
        )
        if request.machine.preset:
            yield (
                "Of the preset phub, links are printed in the paper; start-up, queue pairs and "
                "waits of cores are not, and are assumed."
            )
    if found.curves or any(s.simulated_transfers < s.transfers for s in found.systems):
        yield (
            "Chunks of chunk_sizes and of systems have the very size: where they make more than "
            f"{request.simulated_transfers:,} transfers, the first of them were simulated, and the "
            "rest goes on at the pace of their second half."
        )
    if not found.systems:
        return
    yield (
        "Systems compute and exchange at once, with all gradients there at the start; copies and "
        "queues of frameworks are not in it. PBox has the interfaces of a server, the others one "
        "a worker."
    )
    names = {each.system for each in found.systems}
    if MXNET in names and request.keys is None and request.model_bytes is not None:
        yield "mxnet spreads the model as one key; give its keys to see where they go."
    if PBOX in names:
        yield f"pbox has {found.workers + 1:,} hosts for {found.workers:,} workers."
    for each in found.systems:
        if each.step_us is None:
            reason = (
                f"{found.workers:,} workers are no power of two"
                if not can_run(each.system, found.workers)
                else f"it makes more than {request.simulated_transfers:,} transfers"
            )
            yield f"{each.system} was not simulated: {reason}."
