"""Story of `bascule demo`: its steps, stage, screen and playback."""
