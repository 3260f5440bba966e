"""Objectives that rank all pairs of a row and a class together: TopPush and Recall@k."""
