"""Change a model: new classes, fewer labels, and the images to label next."""
