"""From images to a store: choose and learn the signature and the code, describe every image."""
