"""Checks that end in every way, for the tests of what runs them."""

import os

from interlace_client.torch.proof.outcomes import NotHere


def passes(site):
    return {"ranks": site.ranks}


def cannot_be_made(site):
    raise NotHere("There is no moon.")


def fails_on_one_rank(site):
    assert site.rank == 0, "one and one are three"


def dies(site):
    if site.rank == 1:
        os._exit(7)


def passes_again(site):
    return None


CHECKS = {
    check.__name__: check
    for check in (passes, cannot_be_made, fails_on_one_rank, dies, passes_again)
}
