"""What a statement may be made of: nodes of ClickHouse's syntax tree and their parts, functions, formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files


def _read(name: str) -> str:
    """One of the lists in this folder, without the paragraph above it."""
    return (files(__package__) / f"{name}.txt").read_text("utf-8").partition("\n\n")[2]


NODES: Mapping[str, frozenset[str]] = {
    node: frozenset(parts.split())
    for node, parts in re.findall(r"^(\w+): (.+(?:\n .+)*)", _read("nodes"), re.MULTILINE)
}
"""Node of parseQueryToJSON → the parts it may have."""

EXPLAINS = frozenset(
    {"EXPLAIN", "EXPLAIN SYNTAX", "EXPLAIN AST", "EXPLAIN QUERY TREE", "EXPLAIN PIPELINE", "EXPLAIN ESTIMATE"}
)

# What an EXPLAIN may be asked to show; `enable_analyzer` there is a setting like any other.
_EXPLAIN_SETTINGS = """
header description indexes indices projections actions json sorting keep_logical_steps compact pretty optimize
estimates graph run_passes dump_passes dump_ast dump_tree passes oneline
"""
EXPLAIN_SETTINGS = frozenset(_EXPLAIN_SETTINGS.split())

# They make rows out of nothing. `values` takes only what is written in the statement.
TABLE_FUNCTIONS = frozenset(
    {"numbers", "numbers_mt", "zeros", "zeros_mt", "generateSeries", "generate_series", "primes", "values", "VALUES"}
)

# Their second argument may be the name of a table.
IN_FUNCTIONS = frozenset(
    {"in", "notIn", "globalIn", "globalNotIn", "nullIn", "notNullIn", "globalNullIn", "globalNotNullIn"}
)

# Their first argument may be the name of a function, which no column of that name would then be: arrayMap(file, …).
LAMBDA_FUNCTIONS = re.compile(
    r"(map(All|Apply|Exists|Filter|Sort|ReverseSort|Partial\w*Sort)"
    r"|array(All|Avg|BottomK|Compact|Count|CumSum\w*|Difference|Exists|Fill|Filter|First\w*|Fold|Last\w*|Map|Max|Min"
    r"|Partial\w*Sort|Product|Reverse(Fill|Sort|Split)|Sort|Split|Sum|TopK))"
)

# Their first argument is the name of an aggregate function in a text.
AGGREGATE_IN_TEXT = frozenset({"arrayReduce", "initializeAggregation"})

# One of their arguments, counted from the start or the end, is the name of a type in a text, or of a part of a value by
# its type. A type names functions too: a state of an aggregate function, made of any bytes, is read by code that trusts
# them.
TYPE_IN_TEXT: Mapping[str, int] = {
    **dict.fromkeys(("cast", "_cast", "accuratecast", "accuratecastornull", "accuratecastordefault", "reinterpret"), 1),
    "defaultvalueoftypename": 0,
    **dict.fromkeys(("jsonextract", "jsonextractcaseinsensitive"), -1),
    **dict.fromkeys(("dynamicelement", "variantelement", "getsubcolumn"), 1),
    **dict.fromkeys(("jsonextractkeysandvalues", "jsonextractkeysandvaluescaseinsensitive"), -1),
}

# Their time is the product of the sizes of these arguments, and ClickHouse does not look at the clock during a call:
# at least one of them must be short, and the statement must say so.
SHORT_ARGUMENT: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            *("editDistance", "editDistanceUTF8", "levenshteinDistance", "levenshteinDistanceUTF8"),
            *("damerauLevenshteinDistance", "jaroSimilarity", "jaroWinklerSimilarity"),
            *("arrayLevenshteinDistance", "arrayLevenshteinDistanceWeighted", "arraySimilarity"),
            *("hasAny", "hasAll", "hasSubstr"),
        ),
        (0, 1),
    ),
    **dict.fromkeys(("cutURLParameter", "multiMatchAny", "multiMatchAnyIndex", "multiMatchAllIndices"), (1,)),
    **dict.fromkeys(
        (
            f"multiSearch{what}{how}"
            for what in ("AllPositions", "Any", "FirstIndex", "FirstPosition")
            for how in ("", "CaseInsensitive", "CaseInsensitiveUTF8", "UTF8")
        ),
        (1,),
    ),
    **dict.fromkeys(("multiFuzzyMatchAny", "multiFuzzyMatchAnyIndex", "multiFuzzyMatchAllIndices"), (2,)),
}
# Its text has the width of a number, and it allocates so much before ClickHouse counts it.
FORMATS_NUMBERS = "printf"

SHORT_BYTES = 1_000
SHORT_ELEMENTS = 100
# Function → the argument that bounds the length of its result, and the longest that is short.
SHORTENING: Mapping[str, tuple[int, int]] = {
    "left": (1, SHORT_BYTES),
    "leftUTF8": (1, SHORT_BYTES),
    "substring": (2, SHORT_BYTES),
    "substringUTF8": (2, SHORT_BYTES),
    "arraySlice": (2, SHORT_ELEMENTS),
}
SHORTENING_AGGREGATES = frozenset({"groupArray", "groupUniqArray", "groupArraySample", "topK"})
"""Their first parameter does."""

FORMATS = frozenset(_read("formats").split())


def _functions(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names as they are written, and those that may be written in any case, in lower case."""
    words = " ".join(line for line in text.splitlines() if not line.startswith("#")).split()
    names = frozenset(word.removesuffix("*") for word in words)
    return names, frozenset(word[:-1].lower() for word in words if word.endswith("*"))


_FUNCTIONS, _, _AGGREGATES = _read("functions").partition("# Aggregates\n")
FUNCTIONS, _FUNCTIONS_IN_ANY_CASE = _functions(_FUNCTIONS)
AGGREGATES, _AGGREGATES_IN_ANY_CASE = _functions(_AGGREGATES)
_COMBINATOR = re.compile(
    r"(If|Array|Map|SimpleState|State|Merge|ForEach|Distinct|OrDefault|OrNull|Resample|ArgMin|ArgMax|Null|Tuple)$"
)


def is_function(name: str) -> bool:
    """Whether a statement may call the function of that name, written like that."""
    if name in FUNCTIONS or name.lower() in _FUNCTIONS_IN_ANY_CASE:
        return True
    while name not in AGGREGATES and name.lower() not in _AGGREGATES_IN_ANY_CASE:
        shorter = _COMBINATOR.sub("", name)
        if shorter == name:
            return False
        name = shorter
    return True
