"""Whole jobs, in a sub-package for each thing that users do: describe, predict, train and so on."""
