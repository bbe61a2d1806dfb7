"""random_stops.py BIN PROBES SOURCE WORK: runs stopped at random moments by SIGKILL, SIGTERM, SIGINT and SIGUSR1, and resumed, end with
the bits of an unbroken run.

A stop falls anywhere: while LibTorch loads, in a step, in an evaluation, in a save. Each must end the process within the
bound and with the signal's own exit code. STC_STOPS is the number of stops (40), STC_SEED the seed of their moments, which is
printed.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

BOUND_S = 60  # a loaded machine is slow; unloaded it takes well under a second
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1]
signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored in what is started, also in the background of a script

CONFIGS = {
    "text": """
run: {seed: 7, device: cpu, max_steps: 300, output_dir: out, eval_every: 50}
model: {vocab_size: 256, max_seq_len: 16, n_layer: 2, n_head: 4, n_kv_head: 2, d_model: 32, d_ff: 64, dropout: 0.1}
data: {text_path: text.txt, validation_path: held_out.txt, micro_batch_size: 2, target_batch_size: 4, num_workers: 2, prefetch_factor: 3}
optimizer: {lr: 0.001, cautious: true, grad_clip: 0.5}
scheduler: {warmup_steps: 4}
ema: {decay: 0.9}
checkpoint: {every_steps: 7, keep_last: 2, resume: auto}
logging: {json_file: log.jsonl, every_steps: 1, level: ERROR}
""",
    "shuffled": """
run: {seed: 11, device: cpu, max_steps: 400, output_dir: out}
model: {vocab_size: 64, max_seq_len: 8, n_layer: 1, n_head: 2, d_model: 16, d_ff: 32, tie_weights: false, gradient_checkpointing: true, dropout: 0.2}
data: {num_tokens: 10, shuffle: true, micro_batch_size: 2, target_batch_size: 6, num_workers: 3}
optimizer: {name: muon, lr: 0.001}
checkpoint: {every_steps: 3, keep_last: 3, resume: auto}
logging: {json_file: log.jsonl, every_steps: 1, level: ERROR}
""",
    "skipping": """
run: {seed: 5, device: cpu, max_steps: 400, output_dir: out, nan_policy: skip}
model: {name: probe_nan, divisor: 5, vocab_size: 64, max_seq_len: 8}
data: {num_tokens: 64, micro_batch_size: 1, target_batch_size: 2, shuffle: true}
optimizer: {lr: 0.01}
checkpoint: {every_steps: 5, keep_last: 2, resume: auto}
logging: {json_file: log.jsonl, every_steps: 1, level: ERROR}
""",
}


def command(bin_folder: pathlib.Path, probes: pathlib.Path) -> list[str]:
    return [str(bin_folder / "stc-host"), "run", "run.yaml", "--plugin-path", str(probes)]


def prepare(folder: pathlib.Path, config: str, text: bytes) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "run.yaml").write_text(config)
    (folder / "text.txt").write_bytes(text[:9_000])
    (folder / "held_out.txt").write_bytes(text[9_000:9_400])


def start(folder: pathlib.Path, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=(folder / "stderr.txt").open("wb"))


def steps_of(log: pathlib.Path) -> dict[int, tuple]:
    """The numbers of each step; a step that was made again must have given the same."""
    steps: dict[int, tuple] = {}
    for line in log.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # cut by SIGKILL
        if record["event"] != "train_step":
            continue
        numbers = tuple(record.get(key) for key in ("loss", "grad_norm", "lr", "samples", "tokens"))
        if steps.setdefault(record["step"], numbers) != numbers:
            sys.exit(f"{log}: step {record['step']} gave {steps[record['step']]} and then {numbers}")
    return steps


def stop_once(folder: pathlib.Path, words: list[str], after: float, number: signal.Signals) -> bool:
    """Starts the run and stops it. True: it had ended by itself."""
    run = start(folder, words)
    time.sleep(after)
    run.send_signal(number)
    try:
        code = run.wait(timeout=BOUND_S)
    except subprocess.TimeoutExpired:
        run.kill()
        sys.exit(f"{folder}: {number.name} after {after:.3f} s did not end the run within {BOUND_S} s")
    # 128 + n by the run itself, -n before it took the signal over; 0 when it was done before.
    if code not in (0, 128 + number, -number):
        sys.exit(f"{folder}: {number.name} after {after:.3f} s gave exit code {code}: {(folder / 'stderr.txt').read_text()}")
    return code == 0


def compare(bin_folder: pathlib.Path, whole: pathlib.Path, broken: pathlib.Path) -> None:
    if steps_of(whole / "log.jsonl") != steps_of(broken / "log.jsonl"):
        sys.exit(f"the records of {broken} differ from those of {whole}")
    words = [str(bin_folder / "stc-host"), "inspect", str(whole / "out"), str(broken / "out"), "--format", "json"]
    difference = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    values = [value for value in difference["values"] if value["key"] != "run_id"]
    if values or difference["tensors"]:
        sys.exit(f"{broken} differs from {whole}: {values} {difference['tensors']}")


def main() -> None:
    bin_folder, probes, source, work = (pathlib.Path(argument) for argument in sys.argv[1:])
    text = (source / "configs/quickstart/text.txt").read_bytes()
    stops, seed = int(os.environ.get("STC_STOPS", "40")), int(os.environ.get("STC_SEED", time.time_ns() % 1_000_000))
    print(f"{stops} stops, STC_SEED={seed}", flush=True)
    chance = random.Random(seed)
    words = command(bin_folder, probes)
    length = {}
    for name, config in CONFIGS.items():
        prepare(work / name / "whole", config, text)
        began = time.monotonic()
        if start(work / name / "whole", words).wait(timeout=300) != 0:
            sys.exit(f"{name}: {(work / name / 'whole' / 'stderr.txt').read_text()}")
        length[name] = time.monotonic() - began
    made = ended = 0
    while made < stops:
        name = chance.choice(list(CONFIGS))
        broken = work / name / "broken"
        prepare(broken, CONFIGS[name], text)
        for _ in range(8):
            made += 1
            if stop_once(broken, words, chance.uniform(0, length[name]), SIGNALS[made % len(SIGNALS)]):
                break
        if start(broken, words).wait(timeout=300) != 0:
            sys.exit(f"{name}: the last resume failed: {(broken / 'stderr.txt').read_text()}")
        compare(bin_folder, work / name / "whole", broken)
        ended += 1
    print(f"{made} stops in {ended} runs, each with the bits of its unbroken run")


if __name__ == "__main__":
    main()
