"""From the scores of a model to decisions: ranked classes, prediction sets, "unknown"."""
