"""The groups of the official test suite whose schema is refused when it is catalogued: those that refer to other documents."""

_REMOTE = (
    "remote ref",
    "fragment within remote ref",
    "anchor within remote ref",
    "ref within remote ref",
    "base URI change",
    "base URI change - change folder",
    "base URI change - change folder in subschema",
    "root ref in remote ref",
    "remote ref with ref to defs",
    "Location-independent identifier in remote ref",
    "retrieved nested refs resolve relative to their URI not $id",
    "remote HTTP ref with different $id",
    "remote HTTP ref with different URN $id",
    "remote HTTP ref with nested absolute ref",
    "$ref to $ref finds detached $anchor",
)

OUTSIDE = {
    "draft2020-12/dynamicRef": (
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
    ),
    "draft2020-12/refRemote": _REMOTE,
    "draft2019-09/refRemote": _REMOTE,
    "draft7/refRemote": (
        "remote ref",
        "fragment within remote ref",
        "ref within remote ref",
        "base URI change",
        "base URI change - change folder",
        "base URI change - change folder in subschema",
        "root ref in remote ref",
        "remote ref with ref to definitions",
        "Location-independent identifier in remote ref",
        "retrieved nested refs resolve relative to their URI not $id",
        "$ref to $ref finds location-independent $id",
    ),
}
"""Nothing is ever fetched. With those documents inside of them they are used like any other."""
