"""Views of audit records, imports, agent sessions, snippets and `bascule up`: text for people and JSON for programs."""
