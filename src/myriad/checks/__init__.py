"""Faults of data: duplicates, images of bad quality, confusable names, wrong labels."""
