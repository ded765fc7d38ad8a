"""Networks without residual blocks."""

from torch import Tensor, nn


class Plain(nn.Module):
    """A network whose `layers` follow one another."""

    layers: nn.Sequential

    def forward(self, x: Tensor) -> Tensor:
        """[n, in_channels, image_size, image_size] to logits [n, classes]."""
        logits: Tensor = self.layers(x)
        return logits


class Mlp(Plain):
    """One hidden layer over the flattened pixels."""

    def __init__(
        self, *, in_channels: int, classes: int, image_size: int, hidden_units: int = 128
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(in_channels * image_size * image_size, hidden_units),
            nn.ReLU(inplace=True),
            nn.Linear(hidden_units, classes),
        )


class Softmax(Plain):
    """One linear layer over the flattened pixels: multinomial logistic regression."""

    def __init__(self, *, in_channels: int, classes: int, image_size: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(in_channels * image_size * image_size, classes)
        )


class MnistCnn(Plain):
    """Two convolutions, pooling, dropout and two linear layers, as in PyTorch's MNIST example."""

    def __init__(self, *, in_channels: int, classes: int, image_size: int) -> None:
        super().__init__()
        pooled_size = (image_size - 4) // 2
        if pooled_size < 1:
            raise ValueError(f"model.name mnist_cnn needs images of 6 pixels, not {image_size}")
        self.layers = nn.Sequential(
            nn.Conv2d(in_channels, 32, 3),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Dropout(0.25),
            nn.Flatten(),
            nn.Linear(64 * pooled_size**2, 128),
            nn.ReLU(inplace=True),
            nn.Dropout(0.5),
            nn.Linear(128, classes),
        )
