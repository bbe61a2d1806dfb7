"""Writes tests/reference/dumps with PyTorch and Speedtronic 2.0.0. See README.md beside this file.

    python -m venv venv && venv/bin/pip install -r tests/reference/requirements.txt
    venv/bin/python tests/reference/make_dumps.py
"""

import pathlib

import torch
from safetensors.torch import save_file
from speedtronic.config import load_config
from speedtronic.data import SyntheticTokenDataset
from speedtronic.model import ReferenceTransformer
from speedtronic.optimizers import CautiousOptimizer, build_v2_optimizer
from speedtronic.runtime import build_scheduler

HERE = pathlib.Path(__file__).resolve().parent
DUMPS = HERE / "dumps"


def model_of(config) -> ReferenceTransformer:
    m = config.model
    return ReferenceTransformer(
        vocab_size=m.vocab_size,
        block_size=m.max_seq_len,
        n_layer=m.n_layer,
        n_head=m.n_head,
        n_kv_head=m.n_kv_head,
        d_model=m.d_model,
        d_ff=m.d_ff,
        dropout=m.dropout,
        tie_weights=m.tie_weights,
        rope_base=m.rope_base,
    )


def weights(model: torch.nn.Module, prefix: str) -> dict[str, torch.Tensor]:
    """Each tensor once: a tied head is listed under the embedding's name."""
    return {f"{prefix}/{name}": p.detach().clone() for name, p in model.named_parameters()}


def adamw_of(model, o):
    """Over all parameters: 2.0.0's own routing, with name adamw, leaves out most of them."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=o.lr, betas=tuple(o.betas), eps=o.eps, weight_decay=o.weight_decay, foreach=False
    )
    return CautiousOptimizer(optimizer) if o.cautious else optimizer


def batches_of(config) -> dict[str, torch.Tensor]:
    """(steps, accumulation, rows, tokens) of the synthetic dataset; a finite loader is cycled."""
    m, d = config.model, config.data
    dataset = SyntheticTokenDataset(d.num_tokens, m.max_seq_len, m.vocab_size, config.run.seed)
    accumulation = d.target_batch_size // d.micro_batch_size
    shape = (-1, accumulation, d.micro_batch_size, m.max_seq_len)
    samples = [dataset[i % d.num_tokens] for i in range(config.run.max_steps * d.target_batch_size)]
    return {
        name: torch.stack([sample[name] for sample in samples]).view(shape).to(torch.int32)
        for name in ("input_ids", "labels")
    }


def train(config, initial: dict):
    """20 steps from `initial`. Muon is 2.0.0's own path, AdamW is given all parameters."""
    model = model_of(config)
    model.load_state_dict(initial)
    model.train()
    o = config.optimizer
    if o.name == "muon":
        optimizer = build_v2_optimizer(model, config, torch.device("cpu"))
    else:
        optimizer = adamw_of(model, o)
    scheduler = build_scheduler(optimizer, config)
    batches = batches_of(config)
    losses, lrs, norms = [], [], []
    for step in range(config.run.max_steps):
        ids, labels = batches["input_ids"][step], batches["labels"][step]
        accumulation = ids.shape[0]
        total = 0.0
        for k in range(accumulation):
            loss = model(ids[k].long(), labels[k].long())["loss"]
            (loss / accumulation).backward()
            total += loss.item() / accumulation
        limit = float("inf") if o.grad_clip is None else o.grad_clip
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), limit).item())
        lrs.append(optimizer.param_groups[0]["lr"])
        losses.append(total)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
    series = {"losses": losses, "lrs": lrs, "grad_norms": norms}
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in series.items()}, model


def dump_runs(file: str, runs: dict[str, list[tuple[str, str, object]]]) -> None:
    """Each run reads train.yaml with some values changed. Runs of one form of the model begin with the same weights,
    `initial` or, with a head of its own, `initial_untied`."""
    config = load_config(HERE / "train.yaml")
    out = {f"batches/{name}": tensor for name, tensor in batches_of(config).items()} if file == "training" else {}
    for name, changes in runs.items():
        config = load_config(HERE / "train.yaml")
        for section, key, value in changes:
            setattr(getattr(config, section), key, value)
        torch.manual_seed(config.run.seed)
        start = model_of(config)
        tied = config.model.tie_weights
        assert sum(p.numel() for p in start.parameters()) == (66880 if tied else 75072)
        if file == "training" or not tied:
            out |= weights(start, "initial" if tied else "initial_untied")
        series, model = train(config, start.state_dict())
        out |= {f"{name}/{key}": tensor for key, tensor in series.items()}
        out |= weights(model, name)
        print(name, series["losses"].tolist()[0], series["losses"].tolist()[-1], series["grad_norms"].tolist()[:3])
    save_file(out, DUMPS / f"{file}.safetensors")


def dump_training() -> None:
    cautious = ("optimizer", "cautious", True)
    muon = ("optimizer", "name", "muon")
    dump_runs("training", {"adamw": [], "cautious": [cautious], "clipped": [("optimizer", "grad_clip", 0.25)]})
    dump_runs(
        "optimizers",
        {
            "muon": [muon],
            "muon_plus": [muon, ("optimizer", "muon_plus", True)],
            "cautious_muon": [muon, cautious],
            "accumulation": [("data", "target_batch_size", 8)],
            "untied": [("model", "tie_weights", False)],
        },
    )


def dump_padded_batch() -> None:
    """One batch through an untied model with one key head: right padding, left padding, a row of padding."""
    torch.manual_seed(7)
    model = ReferenceTransformer(
        vocab_size=96, block_size=16, n_layer=2, n_head=4, n_kv_head=1, d_model=32, d_ff=64, tie_weights=False
    )
    with torch.no_grad():  # far enough from zero that attention and norms matter
        for p in model.parameters():
            p.mul_(8.0) if p.ndim == 2 else p.add_(torch.randn_like(p) * 0.3)
    ids = torch.randint(96, (4, 16))
    labels = torch.randint(96, (4, 16))
    mask = torch.ones(4, 16, dtype=torch.bool)
    mask[1, 10:] = False
    mask[2, :5] = False
    mask[3, :] = False
    labels[~mask] = -100
    labels[0, 3] = -100
    output = model(ids, labels, mask)
    output["loss"].backward()
    unpadded = model(ids, labels)
    out = {
        "input_ids": ids.to(torch.int32),
        "labels": labels.to(torch.int32),
        "attention_mask": mask,
        "logits": output["logits"].detach(),
        "loss": output["loss"].detach().to(torch.float64),
        "logits_without_mask": unpadded["logits"].detach(),
        "loss_without_mask": unpadded["loss"].detach().to(torch.float64),
    }
    out |= weights(model, "weights")
    out |= {f"gradients/{name}": p.grad.clone() for name, p in model.named_parameters()}
    assert all(torch.isfinite(tensor).all() for tensor in out.values())
    save_file(out, DUMPS / "padded.safetensors")


def main() -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    DUMPS.mkdir(exist_ok=True)
    dump_training()
    dump_padded_batch()


if __name__ == "__main__":
    main()
