"""JSON shapes of errors and results."""

import msgspec

from bascule.cli.json_output.answers import ErrorShape, FailureShape, FindingShape
from bascule.cli.output.errors import as_json, finding_shapes
from bascule.cli.output.outcomes import failure_shape
from bascule.core.errors import UsageError
from bascule.core.finding import Finding, FindingKind
from bascule.core.outcome import FailureKind, ToolFailure
from support.shapes import misfit


def test_an_error_has_its_shape():
    assert misfit(as_json(UsageError("no", evidence="e", fix="f")), ErrorShape) == ""


def test_a_finding_has_its_shape():
    (shape,) = finding_shapes([Finding(FindingKind.BIDI, "description", "U+202E")])
    assert misfit(msgspec.to_builtins(shape), FindingShape) == ""


def test_of_a_failure_that_nobody_can_judge_it_is_not_said_that_it_may_be_tried_again():
    shape = msgspec.to_builtins(failure_shape(ToolFailure(FailureKind.TOOL_ERROR, "BSC-700", "no")))
    assert misfit(shape, FailureShape) == ""
    assert shape["retriable"] is None
