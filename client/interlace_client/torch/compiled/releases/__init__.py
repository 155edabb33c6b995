"""What differs between releases of PyTorch: a module each, matched by version."""

from __future__ import annotations

from types import ModuleType

import torch

from interlace_client.torch.compiled.releases import release_2_13, release_2_14

#: The modules by release. Each has ``pin(graph, launches_and_waits)`` and ``SETTINGS``.
RELEASES: dict[str, ModuleType] = {"2.13": release_2_13, "2.14": release_2_14}


def of_this_torch() -> ModuleType:
    """Return the module of the PyTorch that runs.

    Raises
    ------
    NotImplementedError
        When there is none for it.
    """
    release = ".".join(torch.__version__.split(".")[:2])
    if release not in RELEASES:
        known = ", ".join(RELEASES)
        raise NotImplementedError(
            f"PyTorch {torch.__version__}: compiled plans run on {known}; how inductor keeps an "
            "order is private to it and differs between releases. Install one of these, or add "
            f"releases/release_{release.replace('.', '_')}.py beside the newest module there: read "
            "inductor's config for new passes that move collectives, and run tests/torch with it."
        )
    return RELEASES[release]
