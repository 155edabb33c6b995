"""Plans as files of other tools, called alike: ``export(graph, network, planned) -> Export``."""

from solver.exports import chakra, chrome, csv_tables, ddp, deepspeed, horovod
from solver.exports.export import Export, Exporter, Planned

#: The writers by format name; add one here.
EXPORTS: dict[str, Exporter] = {
    chrome.FORMAT: chrome.export,
    chakra.FORMAT: chakra.export,
    csv_tables.FORMAT: csv_tables.export,
    ddp.FORMAT: ddp.export,
    deepspeed.FORMAT: deepspeed.export,
    horovod.FORMAT: horovod.export,
}

__all__ = ["EXPORTS", "Export", "Exporter", "Planned"]
