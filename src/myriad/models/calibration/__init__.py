"""What is fitted on rows that a model was not trained on: probabilities, novelty, rejection."""
