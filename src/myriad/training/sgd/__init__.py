"""Stochastic gradient descent on linear models: one-vs-rest, joint objectives, softmax."""
