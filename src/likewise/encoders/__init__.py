"""Pretrained encoders: photos and texts in, features out, computed once."""

from likewise.encoders.encoder import Encoder, load_encoder
from likewise.encoders.names import CHOICES, KINDS, NAMES, PHOTO_ENCODER, TEXT_ENCODERS

__all__ = ["CHOICES", "KINDS", "NAMES", "PHOTO_ENCODER", "TEXT_ENCODERS", "Encoder", "load_encoder"]
