"""How text is cut before byte-pair encoding: one regular expression, one writing system per piece.

It knows Unicode's scripts and nothing of the vocabulary.
"""

# A space that introduces a word belongs to the word (" cat"), so that a word in mid-sentence is one
# token and the text can be put together again from its tokens. Any other white space stands alone.
# No alternative can match the empty string and none nests a repetition: matching takes linear time.
_ALTERNATIVES = (
    r"['’](?:[sStTmMdD]|re|RE|ve|VE|ll|LL)(?!\p{L})",  # don|'t, she|'ll
    r" ?\p{Latin}[\p{Latin}\p{M}]*",
    r" ?\p{Cyrillic}[\p{Cyrillic}\p{M}]*",
    r" ?\p{Greek}[\p{Greek}\p{M}]*",
    r"\p{Han}+",
    # The prolonged sound mark is written in both kana; it goes with the kana before it.
    r"\p{Hiragana}[\p{Hiragana}ー\x{3099}\x{309A}]*",
    r"[\p{Katakana}ーｰ][\p{Katakana}ーｰﾞﾟ\x{3099}\x{309A}]*",
    r"\p{N}",
    r"\s",
    r"[\p{P}\p{S}]+",
    r"\p{L}\p{M}*",
    r"\p{M}+",
)

PRE_SPLIT = "|".join(_ALTERNATIVES)
