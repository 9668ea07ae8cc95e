"""scikit-learn faces: what is learned from pairs, behind fit and predict."""

from likewise.estimators.onnx_file import export_onnx
from likewise.estimators.pair_classifier import PairClassifier

__all__ = ["PairClassifier", "export_onnx"]
