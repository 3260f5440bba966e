"""Check images, labels or a store before training."""
