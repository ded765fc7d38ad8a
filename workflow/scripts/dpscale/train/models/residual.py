"""Residual networks for small images: a 3x3 stem without pooling, then stages of basic blocks.

He et al., Deep Residual Learning for Image Recognition (CVPR 2016), section 4.2 for images of
32x32 pixels.
"""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import pad, relu


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


def projection(in_channels: int, channels: int, stride: int) -> nn.Module:
    """He et al.'s option B: a 1x1 convolution and batch norm."""
    return nn.Sequential(
        nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
    )


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
                self.shortcut = projection(in_channels, channels, stride)

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
        widths: Sequence[int],
        blocks_per_stage: int,
        option: str,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, widths[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        blocks: list[nn.Module] = []
        channels = widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks_per_stage):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(BasicBlock(channels, width, stride=stride, option=option))
                channels = width
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels, classes)
        _initialise_convolutions(self)

    def forward(self, x: Tensor) -> Tensor:
        """[n, in_channels, h, w] to logits [n, classes]."""
        y = self.blocks(relu(self.bn1(self.conv1(x)), inplace=True))
        return self.fc(y.mean(dim=(2, 3)))

    def zero_last_gains(self) -> None:
        """Makes every residual block start as its shortcut (Goyal et al. 2017, section 5.1)."""
        for block in self.blocks:
            assert isinstance(block, BasicBlock)
            nn.init.zeros_(block.bn2.weight)


def _initialise_convolutions(network: nn.Module) -> None:
    # He et al., Delving Deep into Rectifiers (ICCV 2015), by fan-out as torchvision's ResNet.
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
