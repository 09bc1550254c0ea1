"""Plural forms of gettext: the rules of common languages, and which form gets the singular."""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable
from dataclasses import dataclass

_DECLARED = re.compile(r"^Plural-Forms:\s*nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;\n]+);?", re.M | re.I)

_SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
_RULES = {
    "nplurals=1; plural=0;": "ja ko zh vi th id ms lo my km",
    "nplurals=2; plural=(n != 1);": (
        "en de nl sv da nb nn no fi et es it pt el hu bg ca eu gl he eo sq tr af ur ta te mr gu bn sw ka is az kk uz"
    ),
    "nplurals=2; plural=(n > 1);": "fr pt-br fa hi hy am oc",
    f"nplurals=3; plural=({_SLAVIC});": "ru uk be sr hr bs",
    "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);": "pl",
    "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;": "cs sk",
    "nplurals=3; plural=(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2);": "ro",
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);": "lt",
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);": "lv",
    "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);": "sl",
    "nplurals=5; plural=(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4);": "ga",
    "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);": "ar",
}
RULES = {code: rule for rule, codes in _RULES.items() for code in codes.split()}
"""The value of `Plural-Forms` for each language."""


@dataclass(frozen=True)
class PluralForms:
    """The forms of a language: how many, which is for one thing, and whether it is for one thing only."""

    count: int
    singular: int | None
    singular_means_one: bool


def rule_for(language: str) -> str | None:
    """The value of `Plural-Forms` for a language code; None if it is not known."""
    code = language.lower().replace("_", "-")
    return RULES.get(code) or RULES.get(code.partition("-")[0])


def declared_forms(header: str) -> PluralForms | None:
    """The forms that a header declares; None if it does not, or not in a way that can be read."""
    found = _DECLARED.search(header)
    if found is None or not 1 <= int(found[1]) <= 20:
        return None
    try:
        rule: Callable[[int], int] = gettext.c2py(found[2])
        of_numbers = [rule(number) for number in range(200)]
    except (ValueError, ZeroDivisionError, RecursionError, OverflowError):
        return None
    count = int(found[1])
    singular = of_numbers[1] if count > 1 else None
    return PluralForms(count, singular, of_numbers.count(of_numbers[1]) == 1)


def default_forms(count: int) -> PluralForms:
    """The forms of a file that declares none: the first is for one thing, if there are several."""
    return PluralForms(count, 0 if count > 1 else None, True)
