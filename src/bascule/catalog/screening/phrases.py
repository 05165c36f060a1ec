"""Phrases of prompt injection, which instruct the model instead of describing a tool. Precise rather than complete.

Phrases are searched in folded text, from their first words. Their gaps are bounded, and so is the number of beginnings
that are followed up; a text with too many of them is reported as such."""

import re
from dataclasses import dataclass

MAX_BEGINNINGS = 100
"""Beginnings of one phrase that are followed up in one text. Real descriptions have one or two."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way of speaking to the model."""

    says: str
    """What it comes to, in the words of a finding."""
    needs: tuple[tuple[str, ...], ...]
    """Of each of these, one must be in the text. Spares most texts the search; without spaces, since a line may end
    there."""
    begins: str
    whole: str
    """Expressions, made ready when a text is searched: few texts are, and every command would wait for it."""

    def may_be_in(self, text: str) -> bool:
        for words in self.needs:
            for word in words:
                if word in text:
                    break
            else:
                return False
        return True

    def find(self, text: str) -> re.Match[str] | None:
        """The phrase, or the beginning at which the search was given up."""
        whole = re.compile(self.whole)
        for count, beginning in enumerate(re.finditer(self.begins, text)):
            if count == MAX_BEGINNINGS:
                return beginning
            found = whole.match(text, beginning.start())
            if found is not None:
                return found
        return None


def _phrase(says: str, needs: tuple[tuple[str, ...], ...], begins: str, rest: str = "") -> Phrase:
    """In the expressions a space stands for any short white space, `…` for a few words of the same sentence."""
    begins, rest = (part.replace(" ", r"\s{1,6}").replace("…", r"[^.!?]{0,48}?") for part in (begins, rest))
    return Phrase(says, needs, begins, begins + rest)


PHRASES = (
    _phrase(
        "tells the model to set its instructions aside",
        (
            ("ignor", "disregard", "forget", "overrid", "overrul", "bypass"),
            ("instruction", "prompt", "guideline", "directive", "safety"),
        ),
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrul(?:e|ing)|bypass(?:ing)?)\b",
        r"…\b(?:previous|prior|above|earlier|preceding|former|all|any|your|system|user'?s?)\b"
        r"…\b(?:instructions?|system prompts?|prompts?|guidelines?|directives?|safety (?:rules|measures|checks))\b",
    ),
    _phrase(
        "tells the model to keep something from the user",
        (
            ("not", "n't", "never", "without", "avoid"),
            ("tell", "inform", "mention", "reveal", "notify", "alert", "disclos", "let"),
            ("user", "human", "operator", "anyone", "person"),
        ),
        r"\b(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|without|avoid)\b",
        r"(?: (?:ever|also|even|to|you|explicitly))? (?:tell|inform|mention|reveal|notify|alert|let)(?:t?ing)?\b"
        r"…\b(?:user|human|operator|anyone|person)\b",
    ),
    _phrase(
        "tells the model to act in secret",
        (("silently", "secretly", "covertly", "discreetly"),),
        r"\b(?:secretly|covertly|discreetly|silently)\b",
        r" (?:send|forward|upload|post|copy|exfiltrate|include|append|bcc|call|invoke|read|record|log)\b",
    ),
    _phrase(
        "poses as a message with authority over the model",
        (("<", "[inst]", "[system]"),),
        r"<\s{0,4}/?\s{0,4}(?:important|system(?:[-_\s](?:prompt|message|note|reminder))?|secret|hidden|admin|instructions?"
        r"|critical|override)\s{0,4}>|<\|(?:im_start|im_end|system|user|assistant)\|>|\[inst\]|<<sys>>|\[system\]",
    ),
    _phrase(
        "has the model read credentials",
        (("ssh", "id_rsa", "id_ed25519", "id_ecdsa", ".aws/", "/etc/", ".netrc", "mcp.json", ".gnupg", "seed"),),
        r"\b(?:reads?|open|cat|load|access|fetch|get|include|pass|send|attach|copy|provide|supply|upload|append)\b",
        r"…(?:~?/?\.ssh\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/credentials|/etc/(?:passwd|shadow)\b|\.netrc\b"
        r"|[\w./-]{0,40}\bmcp\.json\b|\.gnupg\b|\bseed phrase\b|\bprivate ssh keys?\b|\bssh (?:private )?keys?\b)",
    ),
    _phrase(
        "has the model hand over what it was told",
        (
            ("conversation", "chat", "prompt", "context", "message", "instruction"),
            ("include", "pass", "send", "append", "put", "copy", "provide", "insert", "forward", "attach", "paste"),
        ),
        r"\b(?:include|pass|send|append|put|copy|provide|insert|forward|attach|paste)\b",
        r"…\b(?:(?:entire|full|whole|complete|all(?: of)? the|verbatim) (?:conversation|chat|message|context)"
        r"(?: (?:history|so far|log|window))?|(?:conversation|chat) history|your (?:system )?(?:prompt|instructions)"
        r"|system (?:prompt|message)|all (?:previous|prior) (?:messages|tool (?:results|outputs)))\b"
        r"…\b(?:parameter|argument|field|value|input|here|in|as|to|into)\b",
    ),
    _phrase(
        "steers the use of other tools",
        (("other",), ("tool", "function"), ("before", "after", "prior", "instead", "whenever")),
        r"\b(?:before|after|prior to|whenever|instead of)\b",
        r"(?: you)?(?: (?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?|execut(?:e|ing)))?"
        r" (?:any|every|all|each)(?: of the)? other (?:mcp )?(?:tools?|functions?)\b"
        r"…\b(?:must|always|first|call|use|run|read|send|instead)\b",
    ),
    _phrase(
        "changes what other tools do",
        (("must", "instead", "always"), ("change", "redirect", "replace", "bcc", "modify", "recipient")),
        r"\b(?:when|whenever|if|each time|every time)\b",
        r"… (?:tool|function|server) is (?:called|used|invoked|available)\b"
        r"…\b(?:must|instead|always)\b…\b(?:change|redirect|replace|bcc|modify|recipient)\b",
    ),
    _phrase(
        "shows a picture whose address can carry data away",
        (("![",), ("http",)),
        r"!\[",
        r"[^\]\n]{0,200}\]\(\s{0,4}https?://[^)\s]{1,400}?[?&#][^)\s]{0,200}?[={$]",
    ),
)

_FIRST_WORDS = tuple(dict.fromkeys(word for phrase in PHRASES for word in phrase.needs[0]))


def may_speak(text: str) -> bool:
    """Whether any phrase may be in a folded text. Most texts have none of the words."""
    for word in _FIRST_WORDS:
        if word in text:
            return any(phrase.may_be_in(text) for phrase in PHRASES)
    return False


BLOB = 200
"""Characters of a stretch of encoded data. The longest names and addresses of real tools have half as many."""

_HALF = BLOB // 2
_RUN = re.compile(f"[A-Za-z0-9+/_-]{{{_HALF}}}")
_WHOLE_RUN = re.compile(f"[A-Za-z0-9+/_-]{{{BLOB}}}")


def blob_in(text: str) -> re.Match[str] | None:
    """A long stretch of encoded data. Only every hundredth character is looked at: no such stretch lies between two."""
    for start in range(0, len(text) - _HALF + 1, _HALF):
        if _RUN.match(text, start):
            found = _WHOLE_RUN.search(text, max(start - _HALF, 0), start + 2 * BLOB)
            if found is not None and any(map(str.isdigit, found[0])):
                return found
    return None
