"""The command: one verb per file, no logic."""
