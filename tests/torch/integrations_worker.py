"""What one of two workers does to train by a plan inside other libraries, beside their own way."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from interlace_client.torch import PlannedDDP
from interlace_client.torch.proof.networks import of_linears
from interlace_client.torch.proof.pair import dealt, is_pending
from interlace_client.torch.proof.site import DrawnBatch
from tests.torch.workers import go_through


class RandomPairs(Dataset[dict[str, torch.Tensor]]):
    """Random inputs and targets."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, k: int) -> dict[str, torch.Tensor]:
        return {"x": DrawnBatch(k, 0).normal(16), "y": DrawnBatch(1000 + k, 0).normal(16)}


class Net(nn.Module):
    """Layers and their loss, as a model of transformers gives it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = of_linears()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": (self.layers(x) - y).square().mean()}


def alike(train: Callable[[bool], nn.Module]) -> None:
    """Train without a plan and with one; both learn the same, bit for bit."""
    learned = [list(train(is_planned).parameters()) for is_planned in (False, True)]
    assert all(torch.equal(one, other) for one, other in zip(*learned, strict=True))
    assert not torch.equal(learned[0][0], next(Net().parameters()))


def accelerate(folder: Path, rank: int) -> None:
    """The model stays out of prepare()."""
    from accelerate import Accelerator  # noqa: PLC0415 - only some have it

    def train(is_planned: bool) -> nn.Module:
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
        net = Net()
        optimizer: Any = torch.optim.AdamW(net.parameters(), 0.01)
        loader: Any = DataLoader(RandomPairs(), batch_size=4)
        if is_planned:
            model: Any = PlannedDDP(net, optimizer, dealt(net))
            optimizer, loader = accelerator.prepare(optimizer, loader)
        else:
            model, optimizer, loader = accelerator.prepare(net, optimizer, loader)
        pending = list[bool]()
        for _ in range(2):
            for batch in loader:
                with accelerator.accumulate(model):
                    accelerator.backward(model(**batch)["loss"])
                    optimizer.step()
                    pending.append(is_planned and is_pending(model))
                    optimizer.zero_grad()
        assert any(pending) is is_planned  # each parameter waits for its own bucket
        if is_planned:
            model.detach()
        return net

    alike(train)
    with pytest.raises(TypeError, match="leave the model out of prepare"):
        Accelerator(cpu=True).prepare(PlannedDDP(Net(), ()))


def trainer(folder: Path, rank: int) -> None:
    """The way of docs/how-to/run-a-plan.md."""
    from transformers import Trainer, TrainingArguments  # noqa: PLC0415

    class PlannedTrainer(Trainer):
        def _wrap_model(self, model: Any, training: bool = True, dataloader: Any = None) -> Any:
            if not training or isinstance(model, PlannedDDP):
                return model
            return PlannedDDP(model, self.optimizer, dealt(model))

    def arguments() -> Any:
        return TrainingArguments(
            output_dir=tempfile.mkdtemp(dir=folder),
            use_cpu=True,
            num_train_epochs=2,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )

    def train(is_planned: bool) -> nn.Module:
        net = Net()
        made = (PlannedTrainer if is_planned else Trainer)(
            net, arguments(), train_dataset=RandomPairs()
        )
        made.train()
        assert isinstance(made.model_wrapped, PlannedDDP) is is_planned
        if is_planned:
            made.model_wrapped.detach()
        return net

    alike(train)
    with pytest.raises(TypeError, match="PlannedDDP sends the gradients already"):
        Trainer(PlannedDDP(Net(), ()), arguments(), train_dataset=RandomPairs()).train()


def lightning(folder: Path, rank: int) -> None:
    """A strategy that wraps the model when its optimizers are there."""
    import lightning  # noqa: PLC0415
    from lightning.pytorch.strategies import DDPStrategy  # noqa: PLC0415

    class PlannedStrategy(DDPStrategy):
        model: Any

        def configure_ddp(self) -> None:
            pass

        def setup_optimizers(self, trainer: Any) -> None:
            super().setup_optimizers(trainer)
            self.model = PlannedDDP(self.model, self.optimizers, dealt(self.model))

        def teardown(self) -> None:
            if isinstance(self.model, PlannedDDP):
                self.model = self.model.detach()
            super().teardown()

    class Lit(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            return self.net(**batch)["loss"]

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), 0.01)

    def train(is_planned: bool) -> nn.Module:
        strategy = (PlannedStrategy if is_planned else DDPStrategy)(process_group_backend="gloo")
        lit = Lit()
        lightning.Trainer(
            accelerator="cpu",
            devices=2,
            strategy=strategy,
            max_epochs=2,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        ).fit(lit, DataLoader(RandomPairs(), batch_size=4))
        return lit.net

    alike(train)


SCENARIOS = {scenario.__name__: scenario for scenario in (accelerate, trainer, lightning)}

if __name__ == "__main__":
    os.environ |= {"RANK": sys.argv[2], "LOCAL_RANK": sys.argv[2], "WORLD_SIZE": sys.argv[3]}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "ACCELERATE_USE_CPU": "1"}
    os.environ |= {"HF_HUB_OFFLINE": "1"}
    go_through(SCENARIOS)
