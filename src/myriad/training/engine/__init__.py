"""The block engine: chunks of rows, blocks, Gram corrections and scales shared by all trainers."""
