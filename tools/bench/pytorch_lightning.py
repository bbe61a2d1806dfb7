"""The plain model of tools/bench/pytorch_eager.py, trained by Lightning's Trainer: the side `lightning` of tools/bench/compare.

Logger, checkpoints, progress bar and summary are off, so that what is timed is its loop. Prints a line
`train_step step=<n> loss=<x>` after every optimizer step (the mean over its micro-batches).

    python tools/bench/pytorch_lightning.py configs/bench/tiny.yaml --max-steps 100
"""

import argparse
import logging
import warnings

import lightning
import torch
import yaml
from pytorch_eager import Model, adamw, batches, micro_batches


class Batches(torch.utils.data.IterableDataset):
    """Whole micro-batches, made as the eager loop makes them."""

    def __init__(self, config: dict) -> None:
        self.config = config

    def __iter__(self):
        return batches(self.config)


class Module(lightning.LightningModule):
    def __init__(self, config: dict) -> None:
        super().__init__()
        self.model, self.config = Model(config["model"]), config
        self.micro_batches = micro_batches(config)
        self.total = 0.0

    def training_step(self, batch, index):
        loss = self.model(*batch)
        self.total += loss.detach() / self.micro_batches
        return loss

    def on_train_batch_end(self, outputs, batch, index):
        if (index + 1) % self.micro_batches == 0:
            print(f"train_step step={self.global_step} loss={float(self.total):.6g}", flush=True)
            self.total = 0.0

    def configure_optimizers(self):
        return adamw(self.model, self.config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("config")
    parser.add_argument("--max-steps", type=int)
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        config = yaml.safe_load(file)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")  # advice on loader workers and log intervals
    torch.manual_seed(config["run"]["seed"])
    module = Module(config)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        max_steps=arguments.max_steps or config["run"]["max_steps"],
        accumulate_grad_batches=module.micro_batches,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, torch.utils.data.DataLoader(Batches(config), batch_size=None))


if __name__ == "__main__":
    main()
