"""Wsabie and Wsabie++: a linear map and one prototype a class."""
