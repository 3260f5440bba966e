"""The automatic method: objective and settings are chosen by cross-validation."""
