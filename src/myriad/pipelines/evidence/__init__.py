"""What a model folder says of its model: evidence of the report, pictures, the model card."""
