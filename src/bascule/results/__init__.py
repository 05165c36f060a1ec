"""How much is shown: previews of results too long to read, each made for its type and bounded in characters."""
