"""Experiments on turns: what a seed expects, run and told. All on fresh threads and views; nothing else changes."""
