"""Server requests: elicitation, sampling and roots, answered by the client."""
