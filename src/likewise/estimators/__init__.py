"""scikit-learn faces: what is learned from pairs, from classes known elsewhere, or from a few labels."""

from likewise.estimators.category_discoverer import CategoryDiscoverer
from likewise.estimators.loading import load_classifier
from likewise.estimators.network_classifier import NetworkClassifier
from likewise.estimators.onnx_file import export_onnx
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.pair_folds import PairKFold, agreement, balanced_agreement
from likewise.estimators.semi_supervised import SemiSupervisedClassifier
from likewise.estimators.similarity_network import SimilarityNetwork

__all__ = [
    "CategoryDiscoverer",
    "NetworkClassifier",
    "PairClassifier",
    "PairKFold",
    "SemiSupervisedClassifier",
    "SimilarityNetwork",
    "agreement",
    "balanced_agreement",
    "export_onnx",
    "load_classifier",
]
