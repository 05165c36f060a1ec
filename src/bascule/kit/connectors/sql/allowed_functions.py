"""Allowlist of SQL functions, types and syntax. All else is rejected: many functions do more than compute, and every
database version adds new ones."""

import re

from bascule.kit.connectors.sql.source import Dialect

_NODES = """
    Select Union Except Intersect Values Subquery With CTE From Join Where Group Having Qualify Order Ordered Limit
    Offset Fetch LimitOptions Distinct Table TableAlias Alias Column Identifier Star Tuple Paren Literal Null
    Boolean HexString Var Placeholder Lateral Window WindowSpec Filter WithinGroup IgnoreNulls RespectNulls Rollup
    Cube GroupingSets And Or Not Xor EQ NEQ GT GTE LT LTE Is In Between Like ILike Glob Match SimilarTo RegexpLike
    RegexpILike Escape Any All Exists Add Sub Mul Div Mod IntDiv Pow Neg BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
    BitwiseLeftShift BitwiseRightShift DPipe Concat NullSafeEQ NullSafeNEQ Case If Cast DataType DataTypeParam
    Interval IntervalSpan AtTimeZone TsOrDsToTimestamp Lambda Collate Extract Array Bracket Slice Overlaps
    JSONExtract JSONExtractScalar JSONBExtract JSONBExtractScalar JSONBContains JSONBContainsTopKey
    JSONBContainsAnyTopKeys JSONBContainsAllTopKeys ArrayContainsAll ArrayContainedBy ArrayOverlaps JSONPath
    JSONPathRoot JSONPathKey JSONPathSubscript
"""
NODES = frozenset(_NODES.split())
"""What a query may be made of, by the names that the parser gives the parts. Functions are looked at by their name."""

_SYNTAX = """
    AND OR NOT IN ANY ALL SOME EXISTS VALUES SELECT FROM WHERE HAVING ON USING OVER FILTER AS WITH CASE WHEN THEN
    ELSE UNION EXCEPT INTERSECT LIKE ILIKE BETWEEN IS BY DISTINCT LATERAL JOIN LIMIT OFFSET GROUP ORDER CUBE ROLLUP
    SETS GROUPING ARRAY ROW CAST EXTRACT MATERIALIZED GLOB MATCH TO ESCAPE DECIMAL NUMERIC VARCHAR CHAR TIMESTAMP
    TIMESTAMPTZ TIME TIMETZ BIT FLOAT INTERVAL RECURSIVE FIRST
"""
SYNTAX = frozenset(_SYNTAX.split())
"""What may stand before a parenthesis and is no function."""

_TYPES = """
    BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL BIGDECIMAL TEXT VARCHAR CHAR NAME UUID JSON JSONB DATE
    TIME TIMETZ TIMESTAMP TIMESTAMPTZ TIMESTAMPNTZ TIMESTAMPLTZ DATETIME INTERVAL BINARY VARBINARY BLOB INET MONEY
    ARRAY BIT
"""
TYPES = frozenset(_TYPES.split())
"""To which a value may be cast. A type of somebody's own brings functions of its own."""

_BOTH = """
    abs ceil ceiling floor round sign sqrt exp ln log log10 power pow mod trunc pi degrees radians sin cos tan asin
    acos atan atan2 min max sum avg count lower upper length trim ltrim rtrim replace substring substr coalesce
    nullif concat concat_ws row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value
    nth_value date current_date current_time current_timestamp random
"""

_SQLITE = """
    like glob match -> ->> ifnull iif instr hex quote printf format typeof unicode char soundex likely unlikely
    total group_concat strftime datetime time julianday unixepoch likelihood json json_array json_array_length
    json_each json_extract json_group_array json_group_object json_object json_patch json_quote json_tree json_type
    json_valid json_insert json_remove json_replace json_set
"""

_POSTGRES = """
    greatest least char_length character_length octet_length bit_length position strpos left right lpad rpad repeat
    reverse split_part translate initcap ascii chr btrim overlay starts_with to_hex md5 encode decode format
    quote_literal quote_ident sha256 regexp_match regexp_matches regexp_replace regexp_split_to_array
    regexp_split_to_table regexp_count regexp_instr regexp_like regexp_substr string_to_array string_to_table
    array_to_string unnest array_agg array_length array_append array_prepend array_cat array_position
    array_positions array_remove array_replace array_ndims array_dims array_lower array_upper cardinality string_agg
    bool_and bool_or every bit_and bit_or stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop
    covar_samp regr_slope regr_intercept regr_r2 regr_count mode percentile_cont percentile_disc grouping
    width_bucket div gcd lcm factorial cbrt num_nulls num_nonnulls age date_part date_trunc date_bin to_char to_date
    to_timestamp to_number make_date make_time make_timestamp make_timestamptz make_interval now clock_timestamp
    statement_timestamp transaction_timestamp timeofday justify_days justify_hours justify_interval isfinite
    localtime localtimestamp timezone extract generate_series to_json to_jsonb row_to_json array_to_json
    json_build_object jsonb_build_object json_build_array jsonb_build_array json_object jsonb_object json_agg
    jsonb_agg json_object_agg jsonb_object_agg json_array_length jsonb_array_length json_array_elements
    jsonb_array_elements json_array_elements_text jsonb_array_elements_text json_each jsonb_each json_each_text
    jsonb_each_text json_object_keys jsonb_object_keys json_extract_path jsonb_extract_path json_extract_path_text
    jsonb_extract_path_text json_typeof jsonb_typeof jsonb_path_query jsonb_path_query_array jsonb_path_query_first
    jsonb_path_exists jsonb_path_match jsonb_pretty json_strip_nulls jsonb_strip_nulls jsonb_set jsonb_insert
    to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank ts_rank_cd ts_headline host
    family masklen netmask network
"""

_FUNCTIONS: dict[Dialect, frozenset[str]] = {
    "sqlite": frozenset((_BOTH + _SQLITE).split()),
    "postgres": frozenset((_BOTH + _POSTGRES).split()),
}

TABLE_FUNCTIONS = frozenset(["json_each", "json_tree"])
"""Of SQLite: they are asked for like tables."""

_WORD = re.compile(r"[^\W\d]\w*")


def may_call(name: str, dialect: Dialect) -> bool:
    return name.lower() in _FUNCTIONS[dialect]


def is_word(text: str) -> bool:
    return _WORD.fullmatch(text.rpartition(" ")[2]) is not None


def is_syntax(text: str) -> bool:
    """`GROUP BY` and the like are one word to the parser."""
    return text.upper().rpartition(" ")[2] in SYNTAX
