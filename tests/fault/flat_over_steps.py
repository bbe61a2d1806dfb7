"""flat_over_steps.py BIN SOURCE WORK: a run with everything on takes no more memory, threads or open files at step 20,000 than at 2,000.

Memory is RssAnon of /proc/<pid>/status, which leaves out mapped files: it may grow by 1 MB.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

FIRST, LAST = 2_000, 20_000
WINDOW = 400  # steps from a mark on in which the least of each is taken: a checkpoint being written has a file open
LIMIT_KB = 1024

CONFIG = """
run: {seed: 7, device: cpu, max_steps: 21000, output_dir: out, eval_every: 500}
model: {vocab_size: 256, max_seq_len: 8, n_layer: 1, n_head: 2, n_kv_head: 1, d_model: 16, d_ff: 24, dropout: 0.1}
data: {text_path: text.txt, validation_path: held_out.txt, micro_batch_size: 1, target_batch_size: 2, num_workers: 2}
optimizer: {name: muon, lr: 0.001, cautious: true, grad_clip: 1.0}
scheduler: {name: cosine, warmup_steps: 10}
ema: {decay: 0.99}
checkpoint: {every_steps: 500, keep_last: 2}
logging:
  every_steps: 10
  level: WARNING
  json_file: log.jsonl
  sample_prompts: ["line "]
  sinks: [{name: csv, path: log.csv}, {name: tensorboard, path: board}]
"""


def last_step(log: pathlib.Path, position: list[int]) -> int:
    """The step of the last whole record, reading on from position[0]."""
    step = -1
    if not log.exists():
        return step
    with log.open("rb") as file:
        file.seek(position[0])
        for line in file:
            if not line.endswith(b"\n"):
                break
            position[0] += len(line)
            record = json.loads(line)
            if record["event"] == "train_step":
                step = record["step"]
    return step


def usage(pid: int) -> dict[str, int]:
    process = pathlib.Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return {
        "memory_kb": int(status["RssAnon"].split()[0]),
        "threads": int(status["Threads"]),
        "files": len(os.listdir(process / "fd")),
    }


def watch(host: pathlib.Path, work: pathlib.Path) -> dict[int, dict[str, int]]:
    with (work / "stderr.txt").open("w") as errors:
        run = subprocess.Popen([host, "run", "run.yaml"], cwd=work, stdout=subprocess.DEVNULL, stderr=errors)
    seen: dict[int, dict[str, int]] = {}
    position = [0]
    try:
        step = -1
        while run.poll() is None and step < LAST + WINDOW:
            step = max(step, last_step(work / "log.jsonl", position))
            for mark in (FIRST, LAST):
                if mark <= step and (mark not in seen or step < mark + WINDOW):
                    now = usage(run.pid)
                    seen[mark] = {key: min(value, seen.get(mark, now)[key]) for key, value in now.items()}
            time.sleep(0.02)
        run.wait(timeout=300)
    finally:
        run.kill()
    if run.returncode != 0:
        sys.exit(f"the run ended with {run.returncode}: {(work / 'stderr.txt').read_text()}")
    if len(seen) != 2:
        sys.exit(f"the run was not seen at steps {FIRST} and {LAST}: {seen}")
    return seen


def main() -> None:
    bin_folder, source, work = (pathlib.Path(argument) for argument in sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "run.yaml").write_text(CONFIG)
    text = (source / "configs/quickstart/text.txt").read_bytes()
    (work / "text.txt").write_bytes(text[:20_000])
    (work / "held_out.txt").write_bytes(text[20_000:21_000])
    seen = watch(bin_folder / "stc-host", work)
    print(f"step {FIRST}: {seen[FIRST]}\nstep {LAST}: {seen[LAST]}")
    grown = {key: seen[LAST][key] - seen[FIRST][key] for key in seen[FIRST]}
    if grown["memory_kb"] > LIMIT_KB or grown["threads"] > 0 or grown["files"] > 0:
        sys.exit(f"grew by {grown}")


if __name__ == "__main__":
    main()
