"""Counts as sums of products of named sizes; must not know what is counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Term:
    """``coefficient`` times each symbol to its power.

    Attributes:
        part: what the term stands for, such as ``pairs``; null where it needs no name.
        value: with the sizes put in.
    """

    coefficient: int
    powers: dict[str, int]
    part: str | None
    value: int


@dataclass(frozen=True)
class Count:
    """A count as figure and as formula; the terms add up to the value."""

    value: int
    formula: str
    terms: list[Term]


class Sizes:
    """The sizes that formulas are evaluated with, by symbol."""

    def __init__(self, **values: int) -> None:
        self.values = values

    def term(self, coefficient: int, symbols: str, part: str | None = None) -> Term:
        """``term(4, "n d d")`` is 4nd²; without symbols it is the coefficient alone."""
        powers: dict[str, int] = {}
        value = coefficient
        for symbol in symbols.split():
            powers[symbol] = powers.get(symbol, 0) + 1
            value *= self.values[symbol]
        return Term(coefficient, powers, part, value)

    def one(self, coefficient: int, symbols: str) -> Count:
        """A count of a single term."""
        return count(self.term(coefficient, symbols))


def count(*terms: Term) -> Count:
    """The sum of terms."""
    return Count(
        sum(term.value for term in terms),
        " + ".join(product(term.powers, term.coefficient) for term in terms),
        list(terms),
    )


def times(factor: int, terms: Iterable[Term]) -> Count:
    """A sum, each of its terms so many times."""
    return count(*(Term(factor * t.coefficient, t.powers, t.part, factor * t.value) for t in terms))


def collected(counts: Iterable[Count]) -> Count:
    """The sum of counts, like terms put together."""
    like: dict[str, Term] = {}
    for term in (term for each in counts for term in each.terms):
        found = like.get(product(term.powers))
        like[product(term.powers)] = Term(
            term.coefficient + (found.coefficient if found else 0),
            term.powers,
            None,
            term.value + (found.value if found else 0),
        )
    return count(*like.values())


def product(powers: Mapping[str, int], coefficient: int = 1) -> str:
    """``4nd²``; a point stands beside a symbol of several letters: ``2nd·d_ff``."""
    text = str(coefficient) if coefficient != 1 or not powers else ""
    last = ""
    for symbol, power in powers.items():
        if last and (len(symbol) > 1 or len(last) > 1):
            text += "·"
        text += symbol + (str(power).translate(_SUPERSCRIPTS) if power > 1 else "")
        last = symbol
    return text


def order(*terms: Term) -> str:
    """How a sum grows: its terms without their coefficients, equal ones once."""
    products = dict.fromkeys(product(term.powers) for term in terms)
    return f"O({' + '.join(products)})"
