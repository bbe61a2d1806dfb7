"""The model of a bench configuration, trained by a plain good PyTorch loop: the baseline of tools/bench.

Plain torch.nn modules, scaled_dot_product_attention with shared key heads, torch.optim.AdamW (fused where it exists),
fp32, no mask, no scheduler object. Reads a configuration like configs/bench/tiny.yaml, prints a line
`train_step step=<n> loss=<x>` after every step, and at the end one JSON object:

  tokens_per_s      one number a step after the first
  step_s            seconds of every step, the first included
  first_step_end_s  from the start of the process to the end of the first step
  peak_rss_bytes    of the process
  losses            one a step (the mean over its micro-batches)

    python tools/bench/pytorch_eager.py configs/bench/tiny.yaml --max-steps 100
    python tools/bench/pytorch_eager.py configs/bench/tiny.yaml --max-steps 100 --compile    # by torch.compile
"""

import argparse
import json
import os
import resource
import time

import torch
import torch.nn.functional as F
import yaml
from torch import nn


def process_age() -> float:
    """Seconds since this process was started (resolution: one clock tick)."""
    with open("/proc/self/stat") as stat:
        started_ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime") as uptime:
        now = float(uptime.read().split()[0])
    return now - started_ticks / os.sysconf("SC_CLK_TCK")


class Rope(nn.Module):
    def __init__(self, positions: int, head_dim: int, base: float) -> None:
        super().__init__()
        frequency = 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
        angle = torch.outer(torch.arange(positions, dtype=torch.float32), frequency).repeat(1, 2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # (B, H, T, D)
        t, half = x.shape[2], x.shape[3] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * self.cos[:t] + turned * self.sin[:t]


class Attention(nn.Module):
    def __init__(self, m: dict) -> None:
        super().__init__()
        self.heads, self.kv_heads = m["n_head"], m["n_kv_head"]
        self.head_dim = m["d_model"] // m["n_head"]
        width, kv_width = m["d_model"], self.kv_heads * self.head_dim
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, kv_width, bias=False)
        self.v_proj = nn.Linear(width, kv_width, bias=False)
        self.out_proj = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, rope: Rope) -> torch.Tensor:
        b, t, c = x.shape
        q = rope(self.q_proj(x).view(b, t, self.heads, self.head_dim).transpose(1, 2))
        k = rope(self.k_proj(x).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2))
        v = self.v_proj(x).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv_heads != self.heads)
        return self.out_proj(y.transpose(1, 2).reshape(b, t, c))


class Mlp(nn.Module):
    def __init__(self, m: dict) -> None:
        super().__init__()
        hidden = -(-int(m["d_ff"] * (2 / 3)) // m["n_head"]) * m["n_head"]
        self.gate_proj = nn.Linear(m["d_model"], hidden, bias=False)
        self.up_proj = nn.Linear(m["d_model"], hidden, bias=False)
        self.down_proj = nn.Linear(hidden, m["d_model"], bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, m: dict) -> None:
        super().__init__()
        self.ln1 = nn.RMSNorm(m["d_model"], eps=1e-5)
        self.attn = Attention(m)
        self.ln2 = nn.RMSNorm(m["d_model"], eps=1e-5)
        self.mlp = Mlp(m)

    def forward(self, x: torch.Tensor, rope: Rope) -> torch.Tensor:
        x = x + self.attn(self.ln1(x), rope)
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    def __init__(self, m: dict) -> None:
        super().__init__()
        self.wte = nn.Embedding(m["vocab_size"], m["d_model"])
        self.rope = Rope(m["max_seq_len"], m["d_model"] // m["n_head"], m.get("rope_base", 10000.0))
        self.blocks = nn.ModuleList(Block(m) for _ in range(m["n_layer"]))
        self.ln_f = nn.RMSNorm(m["d_model"], eps=1e-5)
        self.lm_head = nn.Linear(m["d_model"], m["vocab_size"], bias=False)
        for parameter in self.parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=0.02)
        if m.get("tie_weights", True):
            self.lm_head.weight = self.wte.weight

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.wte(ids)
        for block in self.blocks:
            x = block(x, self.rope)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))


def batches(config: dict):
    """Synthetic micro-batches: sample i is drawn from a generator seeded with seed + i; the set is cycled."""
    m, data, seed = config["model"], config["data"], config["run"]["seed"]
    rows, first = data["micro_batch_size"], 0
    while True:
        samples = []
        for i in range(first, first + rows):
            generator = torch.Generator().manual_seed(seed + i % data["num_tokens"])
            samples.append(torch.randint(m["vocab_size"], (m["max_seq_len"] + 1,), generator=generator))
        block = torch.stack(samples)
        yield block[:, :-1].contiguous(), block[:, 1:].contiguous()
        first += rows


def adamw(model: nn.Module, config: dict) -> torch.optim.Optimizer:
    o = config["optimizer"]
    return torch.optim.AdamW(model.parameters(), lr=o["lr"], betas=o["betas"], weight_decay=o["weight_decay"], fused=True)


def micro_batches(config: dict) -> int:
    """Of one optimizer step."""
    return config["data"]["target_batch_size"] // config["data"]["micro_batch_size"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("config")
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        config = yaml.safe_load(file)

    torch.manual_seed(config["run"]["seed"])
    model = Model(config["model"])
    optimizer = adamw(model, config)
    run = torch.compile(model) if arguments.compile else model
    accumulation = micro_batches(config)
    tokens = config["data"]["target_batch_size"] * config["model"]["max_seq_len"]
    source = batches(config)

    step_s, losses, first_step_end_s = [], [], None
    for step in range(arguments.max_steps or config["run"]["max_steps"]):
        begin = time.perf_counter()
        total = 0.0
        for _ in range(accumulation):
            loss = run(*next(source)) / accumulation
            loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(total))
        print(f"train_step step={step + 1} loss={losses[-1]:.6g}", flush=True)
        step_s.append(time.perf_counter() - begin)
        if step == 0:
            first_step_end_s = process_age()
    print(
        json.dumps(
            {
                "config": arguments.config,
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                "parameters": sum(p.numel() for p in model.parameters()),
                "tokens_per_step": tokens,
                "tokens_per_s": [tokens / s for s in step_s[1:]],
                "step_s": step_s,
                "first_step_end_s": first_step_end_s,
                "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "losses": losses,
            }
        )
    )


if __name__ == "__main__":
    main()
