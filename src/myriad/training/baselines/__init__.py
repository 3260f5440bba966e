"""Nearest class means and nearest neighbours."""
