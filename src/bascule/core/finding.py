"""Finding of prompt-injection screening: a text of a server that a person should review before a model reads it."""

from enum import StrEnum

import msgspec


class FindingKind(StrEnum):
    """What was found."""

    INVISIBLE = "invisible"
    BIDI = "bidi"
    CONTROL = "control"
    LOOKALIKE = "lookalike"
    INSTRUCTION = "instruction"
    BLOB = "blob"
    MORE = "more"
    """Stands for findings beyond those that are told."""


class Severity(StrEnum):
    """How little doubt there is. What hides has no other use here; words may have one."""

    DANGER = "danger"
    CAUTION = "caution"


class Finding(msgspec.Struct, frozen=True):
    """One finding. `where` and `evidence` are safe to print: what hides is written out."""

    kind: FindingKind
    where: str
    """The place in the definition, such as `inputSchema.properties.path.description`."""
    evidence: str
    severity: Severity = Severity.DANGER

    def __str__(self) -> str:
        return f"{self.kind} in {self.where}: {self.evidence}"
