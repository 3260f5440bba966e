"""Contributions of the parts of an image to the score of a class, and their picture."""
