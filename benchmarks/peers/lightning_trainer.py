"""PyTorch Lightning's Trainer, with all switched off that may be: logger, checkpoints, bar."""

import itertools
import logging
import time
import warnings

import lightning.pytorch as lightning
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer

from peers import Batches, Train


class _Module(lightning.LightningModule):
    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        super().__init__()
        self.model, self._optimizer = model, optimizer

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        images, labels = batch
        return cross_entropy(self.model(images), labels)

    def configure_optimizers(self) -> Optimizer:
        return self._optimizer


class _Stopwatch(lightning.Callback):
    """From the first batch of an epoch to the end of the last: a fit's start-up is not counted."""

    def on_train_epoch_start(self, *_: object) -> None:
        self.start_s = time.perf_counter()

    def on_train_batch_end(self, *_: object) -> None:
        self.end_s = time.perf_counter()


class _Epoch:
    """So many batches, a few of them in turn."""

    def __init__(self, batches: Batches, steps: int) -> None:
        self._batches, self._steps = batches, steps

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> "itertools.islice[tuple[Tensor, Tensor]]":
        return itertools.islice(itertools.cycle(self._batches), self._steps)


def build(model: nn.Module, optimizer: Optimizer, batches: Batches, workers: int) -> Train:
    """Return a function that fits one epoch of so many steps."""
    warnings.filterwarnings("ignore", module="lightning")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    module = _Module(model, optimizer)

    def train(steps: int) -> float:
        watch = _Stopwatch()
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=workers,
            strategy="ddp" if workers > 1 else "auto",
            max_epochs=1,
            logger=False,
            callbacks=[watch],
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        trainer.fit(module, _Epoch(batches, steps))
        return watch.end_s - watch.start_s

    return train
