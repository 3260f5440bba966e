"""Training in the primal: coordinate descent over the features."""
