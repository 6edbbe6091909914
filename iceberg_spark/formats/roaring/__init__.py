"""Sets of positions as bytes: the 64-bit roaring bitmaps of deletion vectors.

Source: RoaringFormatSpec, "Extension for 64-bit Implementations"; specification, "Deletion
Vectors". Each upper half of 64 bits has a bitmap, with a container for each 65,536 positions:
numbers, words, or runs. Containers of one form are decoded together, directly to words.
"""
