"""What a statement may be made of: nodes of ClickHouse's syntax tree and their parts, functions, formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

# Node of parseQueryToJSON → the parts it may have. A part that says false says nothing and is always allowed.
# Not here on purpose: out_file and its compression, SETTINGS (taken out before, where it may stand), STREAM,
# identifiers that are parameters, and every statement that is not a question.
NODES: Mapping[str, frozenset[str]] = {
    node: frozenset(parts.split())
    for node, parts in {
        "SelectWithUnionQuery": "union_mode list_of_selects list_of_modes",
        "SelectQuery": (
            "with recursive_with cte_aliases select distinct tables prewhere where group_by group_by_all"
            " group_by_with_rollup group_by_with_cube group_by_with_totals group_by_with_grouping_sets having window"
            " qualify order_by order_by_all interpolate limit_by limit_by_all limit_by_length limit_by_offset"
            " limit_length limit_offset limit_with_ties"
        ),
        "ExplainQuery": "kind settings query",
        "SetQuery": "changes",  # of EXPLAIN
        "ExpressionList": "children",
        "WithElement": "name subquery is_materialized aliases",
        "Subquery": "alias children",
        "TablesInSelectQuery": "children",
        "TablesInSelectQueryElement": "table_expression table_join array_join",
        "TableExpression": "database_and_table_name subquery table_function final sample_size sample_offset",
        "TableIdentifier": "name name_parts alias",
        "TableJoin": "kind strictness locality on_expression using_expression_list",
        "ArrayJoin": "kind expression_list",
        "SampleRatio": "numerator denominator",
        "Identifier": "name name_parts alias",
        "Literal": "value alias",
        "Function": (
            "name alias arguments parameters is_operator is_lambda_function kind no_empty_args nulls_action"
            " is_window_function window_name window_definition"
        ),
        "WindowDefinition": (
            "parent_window_name partition_by order_by frame_type frame_begin_type frame_begin_offset"
            " frame_begin_preceding frame_end_type frame_end_offset frame_end_preceding"
        ),
        "WindowListElement": "name definition",
        "OrderByElement": (
            "expression direction nulls_direction nulls_direction_was_explicitly_specified collation"
            " with_fill fill_from fill_to fill_step fill_staleness"
        ),
        "InterpolateElement": "column expr",
        "Asterisk": "transformers",
        "QualifiedAsterisk": "qualifier transformers",
        "ColumnsRegexpMatcher": "pattern transformers",
        "QualifiedColumnsRegexpMatcher": "pattern qualifier transformers",
        "ColumnsListMatcher": "column_list transformers",
        "QualifiedColumnsListMatcher": "column_list qualifier transformers",
        "ColumnsTransformerList": "children",
        "ColumnsApplyTransformer": "func_name parameters lambda lambda_arg",
        "ColumnsExceptTransformer": "children is_strict pattern",
        "ColumnsReplaceTransformer": "children is_strict",
        "ColumnsReplaceTransformerReplacement": "name children",
    }.items()
}

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

# One of their arguments, counted from the start or the end, is the name of a type in a text. A type names functions
# too: a state of an aggregate function, made of any bytes, is read by code that trusts them.
TYPE_IN_TEXT: Mapping[str, int] = {
    **dict.fromkeys(("cast", "_cast", "accuratecast", "accuratecastornull", "accuratecastordefault", "reinterpret"), 1),
    "defaultvalueoftypename": 0,
    **dict.fromkeys(("jsonextract", "jsonextractcaseinsensitive"), -1),
    **dict.fromkeys(("jsonextractkeysandvalues", "jsonextractkeysandvaluescaseinsensitive"), -1),
}

# Their time is the product of the sizes of these arguments, and ClickHouse does not look at the clock during a call:
# at least one of them must be written out, and be short.
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
SHORT_BYTES = 1_000
SHORT_ELEMENTS = 100

# Not here on purpose: formats that read or write a schema by its name (Protobuf, CapnProto, AvroConfluent), that take
# their text from settings (Template, CustomSeparated), and those of other databases' wires.
_FORMATS = """
Native RowBinary RowBinaryWithNames RowBinaryWithNamesAndTypes Null Values Vertical Markdown XML SQLInsert Hash
TSV TSVWithNames TSVWithNamesAndTypes TSVRaw TSVRawWithNames TSVRawWithNamesAndTypes TabSeparated
TabSeparatedWithNames TabSeparatedWithNamesAndTypes TabSeparatedRaw TabSeparatedRawWithNames
TabSeparatedRawWithNamesAndTypes Raw RawWithNames RawWithNamesAndTypes TSKV LineAsString RawBLOB
CSV CSVWithNames CSVWithNamesAndTypes JSON JSONStrings JSONCompact
JSONCompactStrings JSONColumns JSONCompactColumns JSONColumnsWithMetadata JSONEachRow JSONLines NDJSON JSONL
JSONStringsEachRow JSONCompactEachRow JSONCompactEachRowWithNames JSONCompactEachRowWithNamesAndTypes
JSONCompactStringsEachRow JSONCompactStringsEachRowWithNames JSONCompactStringsEachRowWithNamesAndTypes
JSONObjectEachRow JSONEachRowWithProgress JSONStringsEachRowWithProgress JSONCompactEachRowWithProgress
JSONCompactStringsEachRowWithProgress PrettyJSONEachRow PrettyJSONLines PrettyNDJSON
Pretty PrettyCompact PrettySpace PrettyNoEscapes PrettyCompactNoEscapes PrettySpaceNoEscapes
PrettyMonoBlock PrettyCompactMonoBlock PrettySpaceMonoBlock PrettyNoEscapesMonoBlock PrettyCompactNoEscapesMonoBlock
PrettySpaceNoEscapesMonoBlock Parquet Arrow ArrowStream ORC Avro MsgPack BSONEachRow Npy Buffers ODBCDriver2
"""
FORMATS = frozenset(_FORMATS.split())


def _functions(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names as they are written, and those that may be written in any case, in lower case."""
    words = " ".join(line for line in text.splitlines() if not line.startswith("#")).split()
    names = frozenset(word.removesuffix("*") for word in words)
    return names, frozenset(word[:-1].lower() for word in words if word.endswith("*"))


_TEXT = (files(__package__) / "functions.txt").read_text("utf-8").partition("\n\n")[2]
FUNCTIONS, _FUNCTIONS_IN_ANY_CASE = _functions(_TEXT.partition("# Aggregates\n")[0])
AGGREGATES, _AGGREGATES_IN_ANY_CASE = _functions(_TEXT.partition("# Aggregates\n")[2])
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
