"""What a server finds in its environment that runs in a box: all that it can know of where it is."""

LANE_VARIABLE = "BASCULE_LANE"
"""What it can reach."""

RAISE_SOCKET_VARIABLE = "BASCULE_RAISE_SOCKET"
"""The socket over which a server of our kit asks how private its agent session is, and raises that. Where it is named,
levels are kept nowhere else."""

WORKSPACE_VARIABLE = "BASCULE_WORKSPACE"
"""The folder with the files of the one agent session that it serves."""
