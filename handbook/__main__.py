"""Command line of the documentation site: `python -m handbook` builds it into build/site; `python -m handbook write`
generates the reference pages from the code."""

import sys

from handbook.building import SITE, build
from handbook.made import write


def main(words: list[str]) -> int:
    if words == ["write"]:
        for page in write():
            print(f"written: {page}")
        return 0
    wrong = build()
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"The site is in {SITE}; open {SITE / 'index.html'}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
