"""Story of `bascule demo`, an attempted data leak: its stage, playback, steps and output."""
