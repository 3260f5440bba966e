"""Estimate the time, disk and memory of a job on this machine or on a cluster."""
