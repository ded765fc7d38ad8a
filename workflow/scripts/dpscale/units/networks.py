"""Networks and data by what they are, for who does not know this library's names."""

NETWORKS = {
    "resnet18_cifar": "ResNet-18",
    "resnet18": "ResNet-18 for large images",
    "resnet20": "ResNet-20",
    "resnet_8x8": "small residual network",
    "mlp": "network of one hidden layer",
    "mlp_4x512": "network of four hidden layers",
    "softmax": "linear classifier",
    "mnist_cnn": "small convolutional network",
    "own": "given network",
}
DATASETS = {
    "digits": "scikit-learn's digits of 8x8 pixels",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "image_folder": "a folder of images",
    "synthetic": "synthetic data",
    "own": "the data given",
}


def network(name: str) -> str:
    """Return what a network is; of one that is not known here its name."""
    return NETWORKS.get(name, name)


def dataset(name: str) -> str:
    """Return what data are called; of those that are not known here their name."""
    return DATASETS.get(name, name)
