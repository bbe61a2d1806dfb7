"""Writes tests/reference/dumps with PyTorch and Speedtronic 2.0.0. See README.md beside this file.

    python -m venv venv && venv/bin/pip install -r tests/reference/requirements.txt
    venv/bin/python tests/reference/make_dumps.py
"""

import copy
import pathlib

import torch
from safetensors.torch import load_file, save_file
from speedtronic.config import load_config
from speedtronic.data import SyntheticTokenDataset
from speedtronic.model import ReferenceTransformer
from speedtronic.optimizers import CautiousOptimizer
from speedtronic.runtime import build_optimizer, build_scheduler

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


def optimizer_of(model: torch.nn.Module, config):
    """Muon by 2.0.0's own path. AdamW over all parameters: its own routing leaves out most of them."""
    o = config.optimizer
    if o.name == "muon":
        return build_optimizer(model, config, "cpu")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=o.lr, betas=tuple(o.betas), eps=o.eps, weight_decay=o.weight_decay, foreach=False
    )
    return CautiousOptimizer(optimizer) if o.cautious else optimizer


def train(config, batches: dict[str, torch.Tensor], initial: dict, grad_clip: float | None = None):
    """20 steps from `initial`."""
    model = model_of(config)
    model.load_state_dict(initial)
    model.train()
    optimizer = optimizer_of(model, config)
    scheduler = build_scheduler(optimizer, config)
    losses, lrs, norms = [], [], []
    for step in range(config.run.max_steps):
        ids, labels = batches["input_ids"][step], batches["labels"][step]
        accumulation = ids.shape[0]
        total = 0.0
        for k in range(accumulation):
            loss = model(ids[k].long(), labels[k].long())["loss"]
            (loss / accumulation).backward()
            total += loss.item() / accumulation
        limit = float("inf") if grad_clip is None else grad_clip
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), limit).item())
        lrs.append(optimizer.param_groups[0]["lr"])
        losses.append(total)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
    series = {"losses": losses, "lrs": lrs, "grad_norms": norms}
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in series.items()}, model


def dump_training() -> None:
    config = load_config(HERE / "train.yaml")
    m, d = config.model, config.data
    dataset = SyntheticTokenDataset(d.num_tokens, m.max_seq_len, m.vocab_size, config.run.seed)
    accumulation = d.target_batch_size // d.micro_batch_size
    shape = (-1, accumulation, d.micro_batch_size, m.max_seq_len)
    count = config.run.max_steps * accumulation * d.micro_batch_size
    samples = [dataset[i % d.num_tokens] for i in range(count)]  # a finite loader is cycled
    batches = {
        name: torch.stack([sample[name] for sample in samples]).view(shape).to(torch.int32)
        for name in ("input_ids", "labels")
    }

    def run(name: str, optimizer: dict = {}, grad_clip: float | None = None, batch: tuple[int, int] | None = None):
        """The 20 steps under other settings; batch: another split of the same samples into micro-batches."""
        own = copy.deepcopy(config)
        for key, value in optimizer.items():
            setattr(own.optimizer, key, value)
        parts = batches
        if batch is not None:
            parts = {key: tensor.view(-1, *batch, m.max_seq_len) for key, tensor in batches.items()}
        series, model = train(own, parts, start.state_dict(), grad_clip)
        print(name, series["losses"].tolist()[0], series["losses"].tolist()[-1], series["grad_norms"].tolist()[:3])
        return {f"{name}/{key}": tensor for key, tensor in series.items()} | weights(model, name)

    def run_untied():
        own = copy.deepcopy(config)
        own.model.tie_weights = False
        torch.manual_seed(config.run.seed + 1)
        first = model_of(own)
        series, model = train(own, batches, first.state_dict())
        out = {f"untied/{key}": tensor for key, tensor in series.items()}
        return out | weights(model, "untied") | weights(first, "untied_initial")

    torch.manual_seed(config.run.seed)
    start = model_of(config)
    assert sum(p.numel() for p in start.parameters()) == 66880
    out = {f"batches/{name}": tensor for name, tensor in batches.items()}
    out |= weights(start, "initial")
    save_file(out | run("adamw") | run("cautious", {"cautious": True}) | run("clipped", grad_clip=0.25), DUMPS / "training.safetensors")
    muon = {"name": "muon"}
    out = run("muon", muon) | run("muon_plus", muon | {"muon_plus": True}) | run("cautious_muon", muon | {"cautious": True})
    out |= run("accumulation_4", batch=(4, 1))
    save_file(out | run_untied(), DUMPS / "variants.safetensors")


def first_loss_with_attention_in_fp32(config, batches: dict[str, torch.Tensor], initial: dict) -> torch.Tensor:
    """The first window's loss under autocast to bf16, but for the scores and probabilities inside of attention."""
    attention = torch.nn.functional.scaled_dot_product_attention

    def attention_in_fp32(q, k, v, **options):
        with torch.autocast("cpu", enabled=False):
            return attention(q.float(), k.float(), v.float(), **options).to(torch.bfloat16)

    model = model_of(config)
    model.load_state_dict(initial)
    torch.nn.functional.scaled_dot_product_attention = attention_in_fp32
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            windows = zip(batches["input_ids"][0], batches["labels"][0])
            losses = [model(ids.long(), labels.long())["loss"].double() for ids, labels in windows]
    finally:
        torch.nn.functional.scaled_dot_product_attention = attention
    return torch.stack(losses).mean().reshape(1)


def dump_bf16() -> None:
    """The run `adamw` of dump_training with 2.0.0's model under PyTorch's autocast to bf16 on the CPU."""
    config = load_config(HERE / "train.yaml")
    training = load_file(DUMPS / "training.safetensors")
    batches = {name: training[f"batches/{name}"] for name in ("input_ids", "labels")}
    initial = {name.removeprefix("initial/"): t for name, t in training.items() if name.startswith("initial/")}
    initial["lm_head.weight"] = initial["transformer.wte.weight"]
    # One context around all steps: a cache of rounded weights would keep those of the first step.
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        series, model = train(config, batches, initial, False, None)
    out = {f"bf16/{key}": tensor for key, tensor in series.items()}
    out |= weights(model, "bf16")
    out["first_loss_with_attention_in_fp32"] = first_loss_with_attention_in_fp32(config, batches, initial)
    print("bf16", series["losses"].tolist()[0], series["losses"].tolist()[-1])
    save_file(out, DUMPS / "bf16.safetensors")


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
    dump_bf16()
    dump_padded_batch()


if __name__ == "__main__":
    main()
