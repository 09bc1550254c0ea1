"""Tokenizers: train, encode, decode, save, load."""

from headwise.text.kinds import TOKENIZERS, load_tokenizer, train_tokenizer
from headwise.text.normalise import normalise
from headwise.text.published.tokenizer_folder import load_published
from headwise.text.tokenizer import Tokenizer

__all__ = ["TOKENIZERS", "Tokenizer", "load_published", "load_tokenizer", "normalise", "train_tokenizer"]
