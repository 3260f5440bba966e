"""Use a model: score, decide, predict, evaluate, explain and sort."""
