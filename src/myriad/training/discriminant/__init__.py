"""Discriminant analysis: classes as Gaussians, learned in one pass over the rows."""
