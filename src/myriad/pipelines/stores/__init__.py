"""Stores of rows: import, compress, export and inspect them."""
