"""Training shared out to workers: shards of classes, rounds of local SGD."""
