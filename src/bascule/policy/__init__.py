"""Policy: named rules over facts that allow, refuse or ask; permissions, exposure, limits, containment. Pure."""
