"""Whole jobs: extract, train, evaluate, predict, demonstrate."""
