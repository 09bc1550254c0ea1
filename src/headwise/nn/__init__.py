"""The parts of the Transformer. They import torch alone and know no config, no tokenizer and no file.

Letters for shapes, here and everywhere: B batch, S source length, T target length, D model width, H heads,
G key/value heads, K width of a head, F hidden width of the feed-forward, V vocabulary.
"""
