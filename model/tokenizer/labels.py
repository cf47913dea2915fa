"""Signs for text that must always be visible: what a token is called on a page or an axis.

It knows Unicode and nothing of any vocabulary.
"""

import unicodedata

_SIGNS = {"\n": "↵", "\t": "⇥", " ": "␣"}

# Letters, marks and symbols by category that nevertheless draw nothing, or that a reader would take
# for a fault of ours (U+FFFD). Unicode: Default_Ignorable_Code_Point, and the blank of Braille.
_BLANK = frozenset(
    (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0xFFFD),
        *range(0x180B, 0x1810),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)

_DOTTED_CIRCLE = "\N{DOTTED CIRCLE}"


def visible(text: str) -> str:
    """Return `text` with a sign in place of each character that would not be seen.

    Newline, tab and space become ↵, ⇥ and ␣; any other white space, control, format, private or
    unassigned character its code point (`U+200B`); a combining mark without a base stands on ◌.
    The result is empty only if `text` is.
    """
    signs: list[str] = []
    has_base = False
    for character in text:
        sign = _sign(character)
        is_mark = sign == character and unicodedata.category(character).startswith("M")
        if is_mark and not has_base:
            signs.append(_DOTTED_CIRCLE)
        has_base = sign == character
        signs.append(sign)
    return "".join(signs)


def _sign(character: str) -> str:
    sign = _SIGNS.get(character)
    if sign is not None:
        return sign
    # C: control, format, surrogate, private, unassigned. Z: every space and line separator.
    if unicodedata.category(character)[0] in "CZ" or ord(character) in _BLANK:
        return f"U+{ord(character):04X}"
    return character
