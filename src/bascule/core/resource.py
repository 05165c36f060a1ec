"""Resource, or resource template, as its server lists it."""

from dataclasses import dataclass
from typing import Literal

from bascule.core.finding import Finding

ResourceKind = Literal["resource", "template"]


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """One resource, or one template that stands for many. Its URI is for its server alone: we never fetch it."""

    server: str
    kind: ResourceKind
    digest: str
    uri: str = ""
    """Empty for a template."""
    uri_template: str = ""
    """As in RFC 6570. Empty for a resource."""
    name: str = ""
    title: str | None = None
    description: str = ""
    mime_type: str | None = None
    size: int | None = None
    """Bytes, where the server says so."""
    findings: tuple[Finding, ...] = ()
    """What its texts hide, or say to the model."""

    @property
    def address(self) -> str:
        """The URI or the template, whichever it has."""
        return self.uri or self.uri_template
