"""Train a model, and study settings: tune, compare objectives, compare codes."""
