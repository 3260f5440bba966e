"""Contents of a model folder besides the model: data of the report, pictures, the model card."""
