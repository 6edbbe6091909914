"""Puffin files: blobs of any kind behind a footer that describes them."""
