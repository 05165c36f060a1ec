"""Error for a rejected token; it repeats neither the token nor a key."""

from bascule.core.errors import NotIdentified


def not_believed(why: str, rule: str, fix: str = "") -> NotIdentified:
    return NotIdentified(
        f"the token is not believed: {why}",
        rule=rule,
        error="invalid_token",
        fix=fix or "ask whoever issues tokens for one that fits this server",
    )
