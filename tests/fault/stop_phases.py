"""stop_phases.py BIN SHIM SOURCE WORK: SIGTERM, SIGINT and SIGUSR1 in every phase of a run: while a read of data waits, in a long
accumulation, in an evaluation, while samples are drawn, while a checkpoint is written. Each phase is entered for certain: it is made
to last for seconds, and the signal comes when the run's own records say that it has begun.

Each is tried with one signal, with one signal and nobody reading standard output, and with a second signal, which ends the run at once.
The run must end within the bound with 128 + the signal, and a resumed one must make the records and the weights of an unbroken run.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

BOUND_S = 60  # a loaded machine is slow; unloaded it takes the step under way, five seconds at most, and a save
AGAIN_S = 0.25  # a repeat within a tenth of a second counts as the first signal
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1]
signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored in what is started, also in the background of a script
MANNERS = ["once", "closed output", "twice"]
STEPS = 6

CONFIG = """
run: {{seed: 7, device: cpu, max_steps: 6, output_dir: out, eval_every: {eval_every}}}
model: {{vocab_size: 256, max_seq_len: 16, n_layer: 1, n_head: 2, n_kv_head: 1, d_model: 16, d_ff: 24, dropout: 0.1}}
data: {{text_path: {text}, validation_path: held_out.txt, micro_batch_size: 1, target_batch_size: {target}}}
optimizer: {{lr: 0.001}}
checkpoint: {{every_steps: 3, keep_last: 5, resume: auto}}
logging: {{json_file: log.jsonl, every_steps: 1, level: INFO, sample_prompts: {prompts}}}
"""

# name -> what differs from the smallest run, and the record after which the phase lasts
PHASES = {
    "a read that waits": ({"text": "pipe"}, ("train_step", 4)),
    "a long accumulation": ({"target": 6_000}, ("train_step", 1)),
    "an evaluation": ({"eval_every": 4, "held_out": 1_000_000}, ("train_step", 4)),
    "samples": ({"eval_every": 4, "prompts": 300}, ("eval", 4)),
    "a checkpoint in writing": ({"target": 6_000}, ("train_step", 3)),
}
SLOW_WRITE = {"STC_SHIM_FAIL": "fsync", "STC_SHIM_PATH": "/model.safetensors", "STC_SHIM_SLEEP": "1500"}


def prepare(folder: pathlib.Path, name: str, text: bytes) -> None:
    differs = {"text": "text.txt", "target": 2, "eval_every": 100, "held_out": 400, "prompts": 0, **PHASES[name][0]}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    held_out, prompts = differs.pop("held_out"), differs.pop("prompts")
    (folder / "run.yaml").write_text(CONFIG.format(prompts=json.dumps(["once upon"] * prompts), **differs))
    (folder / "text.txt").write_bytes(text)
    (folder / "held_out.txt").write_bytes((text * (held_out // len(text) + 1))[:held_out])
    if differs["text"] == "pipe":
        os.mkfifo(folder / "pipe")


@contextlib.contextmanager
def feeding(folder: pathlib.Path, most: int | None = None):
    """Gives a pipe the run's text, all or its first bytes, and keeps it open."""
    if not (folder / "pipe").exists():
        yield
        return
    done = threading.Event()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), (folder / "pipe").open("wb", buffering=0) as pipe:
            pipe.write((folder / "text.txt").read_bytes()[:most])
            if most is not None:
                done.wait(BOUND_S)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=1)


def start(folder: pathlib.Path, words: list[str], stdout: int, environment: dict[str, str]) -> subprocess.Popen:
    with (folder / "stderr.txt").open("wb") as errors:
        return subprocess.Popen(words, cwd=folder, stdout=stdout, stderr=errors, env={**os.environ, **environment})


def records(folder: pathlib.Path) -> list[dict]:
    log = folder / "log.jsonl"
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


def numbers(folder: pathlib.Path) -> set[tuple]:
    """Of each step, evaluation and sample: one that was made twice with different numbers stands there twice."""
    fields = ("event", "step", "loss", "grad_norm", "lr", "samples", "text")
    return {tuple(record.get(field) for field in fields) for record in records(folder)
            if record["event"] in ("train_step", "eval", "sample")}


def await_record(folder: pathlib.Path, run: subprocess.Popen, event: str, step: int) -> None:
    end = time.monotonic() + BOUND_S
    while time.monotonic() < end:
        log = folder / "log.jsonl"
        lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
        if any(record["event"] == event and record["step"] == step for record in map(json.loads, lines) if "step" in record):
            return
        if run.poll() is not None:
            break
        time.sleep(0.005)
    sys.exit(f"{folder}: no {event} of step {step}: exit code {run.poll()}, {(folder / 'stderr.txt').read_text()}")


def stop(folder: pathlib.Path, name: str, words: list[str], shim: str, number: signal.Signals, manner: str) -> float:
    """The seconds between the last signal and the end of the run."""
    environment = {"LD_PRELOAD": shim, **SLOW_WRITE} if name == "a checkpoint in writing" else {}
    run = start(folder, words, subprocess.PIPE if manner == "closed output" else subprocess.DEVNULL, environment)
    if manner == "closed output":
        run.stdout.close()
    await_record(folder, run, *PHASES[name][1])
    time.sleep(0.1)
    asked = time.monotonic()
    run.send_signal(number)
    if manner == "twice":
        time.sleep(AGAIN_S)
        asked = time.monotonic()
        run.send_signal(number)
    try:
        code = run.wait(timeout=BOUND_S)
    except subprocess.TimeoutExpired:
        run.kill()
        sys.exit(f"{folder}: {name}: {number.name} {manner} did not end the run within {BOUND_S} s")
    # The second signal may meet a run that has done all that the first one asked for, and is leaving.
    if code != 128 + number and not (manner == "twice" and code == -number):
        sys.exit(f"{folder}: {name}: {number.name} {manner} gave exit code {code}: {(folder / 'stderr.txt').read_text()}")
    return time.monotonic() - asked


def finish(folder: pathlib.Path, words: list[str]) -> None:
    with feeding(folder):
        code = start(folder, words, subprocess.DEVNULL, {}).wait(timeout=300)
    if code != 0:
        sys.exit(f"{folder}: exit code {code}: {(folder / 'stderr.txt').read_text()}")


def weights(folder: pathlib.Path) -> bytes:
    return (folder / f"out/checkpoints/step_{STEPS:012}/model.safetensors").read_bytes()


def main() -> None:
    bin_folder, shim, source, work = (pathlib.Path(argument) for argument in sys.argv[1:])
    text = (source / "configs/quickstart/text.txt").read_bytes()[:4_000]
    words = [str(bin_folder / "stc-host"), "run", "run.yaml"]
    for name in PHASES:
        place = work / name.replace(" ", "_")
        prepare(place / "whole", name, text)
        finish(place / "whole", words)
        for manner in MANNERS:
            seconds = []
            for number in SIGNALS:
                broken = place / f"{manner.replace(' ', '_')}_{number.name}"
                prepare(broken, name, text)
                # Enough for four steps and a beginning of the fifth.
                with feeding(broken, 4 * 2 * 17 + 5):
                    seconds.append(stop(broken, name, words, str(shim), number, manner))
                finish(broken, words)
                if numbers(broken) != numbers(place / "whole"):
                    sys.exit(f"{broken}: other records than those of {place / 'whole'}")
                if weights(broken) != weights(place / "whole"):
                    sys.exit(f"{broken}: other weights than those of {place / 'whole'}")
            print(f"{name}, {manner}: ended after " + ", ".join(f"{value:.2f}" for value in seconds) + " s", flush=True)


if __name__ == "__main__":
    main()
