"""The groups of the official test suite whose schema is refused when it is catalogued, by the reason why."""

OUTSIDE = {
    "draft2020-12/anchor": (
        "Location-independent identifier with absolute URI",
        "Location-independent identifier with base URI change in subschema",
        "same $anchor with different base uri",
    ),
    "draft2020-12/defs": ("validate definition against metaschema",),
    "draft2020-12/dynamicRef": (
        "A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated",
        "A $dynamicRef without anchor in fragment behaves identical to $ref",
        "A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution",
        "An $anchor with the same name as a $dynamicAnchor is not used for dynamic scope resolution",
        "A $dynamicRef without a matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor",
        "A $dynamicRef with a non-matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor",
        "A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope",
        "A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor behaves like a normal $ref to $anchor",
        "multiple dynamic paths to the $dynamicRef keyword",
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
        "$dynamicRef skips over intermediate resources - direct reference",
    ),
    "draft2020-12/ref": (
        "remote ref, containing refs itself",
        "Recursive references between schemas",
        "refs with relative uris and defs",
        "relative refs with absolute uris and defs",
        "$id must be resolved against nearest parent, not just immediate parent",
        "order of evaluation: $id and $ref",
        "URN ref with nested pointer ref",
        "ref with absolute-path-reference",
    ),
    "draft2020-12/refRemote": (
        "remote ref",
        "fragment within remote ref",
        "anchor within remote ref",
        "ref within remote ref",
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
    ),
    "draft2020-12/unevaluatedItems": ("unevaluatedItems with $dynamicRef",),
    "draft2020-12/unevaluatedProperties": ("unevaluatedProperties with $dynamicRef",),
    "draft7/definitions": ("validate definition against metaschema",),
    "draft7/ref": (
        "remote ref, containing refs itself",
        "Recursive references between schemas",
        "Location-independent identifier with base URI change in subschema",
        "refs with relative uris and defs",
        "relative refs with absolute uris and defs",
        "$id must be resolved against nearest parent, not just immediate parent",
        "ref to if",
        "ref to then",
        "ref to else",
        "ref with absolute-path-reference",
    ),
    "draft7/refRemote": (
        "remote ref",
        "fragment within remote ref",
        "ref within remote ref",
        "root ref in remote ref",
        "remote ref with ref to definitions",
        "Location-independent identifier in remote ref",
        "retrieved nested refs resolve relative to their URI not $id",
        "$ref to $ref finds location-independent $id",
    ),
}
"""What refers to another document, or to a part of it by a URI of its own. Nothing is ever fetched, not even what is there."""

OWN_ID = {
    "draft2020-12/dynamicRef": ("after leaving a dynamic scope, it is not used by a $dynamicRef",),
    "draft2020-12/ref": (
        "ref to if",
        "ref to then",
        "ref to else",
    ),
    "draft2020-12/refRemote": ("base URI change",),
    "draft7/ref": ("$ref prevents a sibling $id from changing the base uri",),
    "draft7/refRemote": (
        "base URI change",
        "base URI change - change folder",
        "base URI change - change folder in subschema",
    ),
}
"""What changes inside of itself what its references mean."""

TWO_NAMES = {
    "draft2020-12/ref": ("order of evaluation: $id and $anchor and $ref",),
}
"""What gives one name to two of its parts."""
