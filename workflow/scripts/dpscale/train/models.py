"""The networks, by the name that the configuration gives them.

Residual networks for small images have a 3x3 stem without pooling, then stages of basic blocks: He
et al., Deep Residual Learning for Image Recognition (CVPR 2016), section 4.2 for images of 32x32
pixels.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, pairwise

from torch import Tensor, nn
from torch.nn.functional import pad, relu


class Plain(nn.Module):
    """A network without residual blocks, whose `layers` follow one another."""

    layers: nn.Sequential

    def forward(self, x: Tensor) -> Tensor:
        """[n, in_channels, image_size, image_size] to logits [n, classes]."""
        logits: Tensor = self.layers(x)
        return logits


class Mlp(Plain):
    """Hidden layers over the flattened pixels."""

    def __init__(
        self, *, in_channels: int, classes: int, image_size: int, hidden_units: Sequence[int]
    ) -> None:
        super().__init__()
        units = [in_channels * image_size * image_size, *hidden_units]
        hidden = [[nn.Linear(*ends), nn.ReLU(inplace=True)] for ends in pairwise(units)]
        self.layers = nn.Sequential(nn.Flatten(), *chain(*hidden), nn.Linear(units[-1], classes))


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


class PaddedShortcut(nn.Module):
    """He et al.'s option A: takes every second pixel and pads new channels with zeros."""

    def __init__(self, *, new_channels: int, stride: int) -> None:
        super().__init__()
        self._before, self._stride = new_channels // 2, stride
        self._after = new_channels - self._before

    def forward(self, x: Tensor) -> Tensor:
        """[n, c, h, w] to [n, c + new_channels, h / stride, w / stride]."""
        kept = x[:, :, :: self._stride, :: self._stride]
        return pad(kept, (0, 0, 0, 0, self._before, self._after))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with batch norm, added to the shortcut before the last ReLU."""

    def __init__(self, in_channels: int, channels: int, *, stride: int, option: str) -> None:
        """`option`: the shortcut where the shape changes, "A" (padding) or "B" (projection)."""
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != channels:
            if option == "A":
                self.shortcut = PaddedShortcut(new_channels=channels - in_channels, stride=stride)
            else:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False),
                    nn.BatchNorm2d(channels),
                )

    def forward(self, x: Tensor) -> Tensor:
        """[n, in_channels, h, w] to [n, channels, h / stride, w / stride]."""
        y = relu(self.bn1(self.conv1(x)), inplace=True)
        return relu(self.bn2(self.conv2(y)) + self.shortcut(x), inplace=True)


class SmallImageResNet(nn.Module):
    """Stem, stages (each after the first halves the image), global average, linear layer."""

    def __init__(
        self,
        *,
        in_channels: int,
        classes: int,
        image_size: int,
        zero_gamma: bool,
        widths: Sequence[int],
        blocks_per_stage: int,
        option: str,
    ) -> None:
        """Images may be of any size; `zero_gamma` makes every block start as its shortcut."""
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, widths[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        blocks: list[BasicBlock] = []
        channels = widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks_per_stage):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(BasicBlock(channels, width, stride=stride, option=option))
                channels = width
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels, classes)
        # He et al., Delving Deep into Rectifiers (ICCV 2015), by fan-out as torchvision's ResNet.
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        for last in blocks if zero_gamma else ():
            nn.init.zeros_(last.bn2.weight)

    def forward(self, x: Tensor) -> Tensor:
        """[n, in_channels, h, w] to logits [n, classes]."""
        y = self.blocks(relu(self.bn1(self.conv1(x)), inplace=True))
        return self.fc(y.mean(dim=(2, 3)))


def _torchvision_resnet18(
    *, in_channels: int, classes: int, image_size: int, zero_gamma: bool
) -> nn.Module:
    # torchvision takes seconds to import, and the other networks do not need it.
    from torchvision.models import resnet18

    network: nn.Module = resnet18(num_classes=classes, zero_init_residual=zero_gamma)
    if in_channels != 3:
        stem = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
        nn.init.kaiming_normal_(stem.weight, mode="fan_out", nonlinearity="relu")
        network.conv1 = stem
    return network


def _small(widths: tuple[int, ...], blocks_per_stage: int, option: str) -> Callable:
    return partial(
        SmallImageResNet, widths=widths, blocks_per_stage=blocks_per_stage, option=option
    )


_RESIDUAL: dict[str, Callable] = {
    "resnet18_cifar": _small((64, 128, 256, 512), 2, "B"),
    "resnet18": _torchvision_resnet18,
    "resnet20": _small((16, 32, 64), 3, "A"),
    "resnet_8x8": _small((16, 32, 64), 1, "B"),
}
_PLAIN: dict[str, Callable] = {
    "mlp": partial(Mlp, hidden_units=[128]),
    "mlp_4x512": partial(Mlp, hidden_units=[512] * 4),
    "softmax": Softmax,
    "mnist_cnn": MnistCnn,
}


def model_names() -> tuple[str, ...]:
    """Every name that `build_model` knows."""
    return (*_RESIDUAL, *_PLAIN)


def build_model(
    name: str, *, in_channels: int, classes: int, image_size: int, zero_gamma: bool
) -> nn.Module:
    """The network of that name, freshly initialised from torch's global generator, on the CPU.

    resnet18_cifar: ResNet-18 with a 3x3 stem and no pooling (11,173,962 parameters for 10
    classes of colour images); resnet18: torchvision's; resnet20: He et al.'s for CIFAR with
    shortcuts of option A (269,722 parameters); resnet_8x8: three residual blocks for tiny
    images; mlp, of a hidden layer of 128 units; mlp_4x512, of four of 512; softmax, a linear
    classifier; mnist_cnn. `zero_gamma` starts the last batch-norm gain of each residual block at 0
    (Goyal et al. 2017, section 5.1). Raises ValueError naming the key when the name is unknown or
    the network has no residual block to start so.
    """
    shape = {"in_channels": in_channels, "classes": classes, "image_size": image_size}
    if name in _RESIDUAL:
        return _RESIDUAL[name](**shape, zero_gamma=zero_gamma)
    if name not in _PLAIN:
        raise ValueError(f"model.name: {name!r} is not one of {', '.join(model_names())}")
    if zero_gamma:
        raise ValueError(f"model.zero_gamma: {name} has no residual block, so it must be false")
    return _PLAIN[name](**shape)
