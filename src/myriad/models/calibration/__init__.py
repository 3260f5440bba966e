"""Probabilities, novelty and rejection, fitted on rows that a model was not trained on."""
