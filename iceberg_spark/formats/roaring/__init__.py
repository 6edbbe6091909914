"""Sets of positions as bytes: 64-bit roaring bitmaps, as deletion vectors hold them.

Source: RoaringFormatSpec, "Extension for 64-bit Implementations"; specification, "Deletion
Vectors". A bitmap for each upper half of 64 bits, in it a container for each 65,536 positions:
numbers, words, or runs. Containers of a form are taken together, and become words straight.
"""
