"""Every policy has a label, and every term one sentence."""

import pytest

from app import names
from solver.glossary import LABELS, TERMS, label


@pytest.mark.parametrize("name", [*names.RIVALS, *names.WHAT_RUNS])
def test_whatever_is_compared_with_has_a_label(name: str) -> None:
    assert label(name) == LABELS[name] != name


def test_labels_tell_apart() -> None:
    assert len(set(LABELS.values())) == len(LABELS)


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_told_in_one_sentence(term: str) -> None:
    said = TERMS[term]
    assert said.endswith(".")
    assert said.count(". ") == 0
    assert len(said) <= 160


def test_a_name_that_nobody_labelled_stays() -> None:
    assert label("mine") == "mine"
