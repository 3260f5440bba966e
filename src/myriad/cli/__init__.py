"""The command: one verb a file, no logic."""
