"""Server requests: elicitation, sampling and roots, checked by the rules and answered by a client or callback."""
