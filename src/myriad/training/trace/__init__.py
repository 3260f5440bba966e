"""Trace-norm and other gauge-regularised models by stochastic atom descent."""
