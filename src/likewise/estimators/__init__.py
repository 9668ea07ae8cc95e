"""scikit-learn faces: what is learned from pairs, behind fit and predict."""

from likewise.estimators.category_discoverer import CategoryDiscoverer
from likewise.estimators.onnx_file import export_onnx
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.similarity_network import SimilarityNetwork

__all__ = ["CategoryDiscoverer", "PairClassifier", "SimilarityNetwork", "export_onnx"]
