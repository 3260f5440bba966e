"""Wsabie and Wsabie++: a linear map and one prototype per class."""
