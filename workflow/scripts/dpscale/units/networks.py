"""Networks by what they are, as a reader knows them who does not know this library's names."""

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


def network(name: str) -> str:
    """Return what a network is; of one that is not known here its name."""
    return NETWORKS.get(name, name)
