"""broken_disk.py BIN SHIM SOURCE WORK: a run whose disk fills up, refuses a rename or becomes read-only in the middle trains to its
end, tells what failed, keeps the checkpoints that it had, and goes on from them to the bits of an unbroken run.
"""

import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys

CONFIG = """
run: {seed: 7, device: cpu, max_steps: 20, output_dir: out}
model: {vocab_size: 256, max_seq_len: 16, n_layer: 1, n_head: 2, n_kv_head: 1, d_model: 16, d_ff: 24, dropout: 0.1}
data: {text_path: text.txt, micro_batch_size: 1, target_batch_size: 2}
optimizer: {lr: 0.001}
checkpoint: {every_steps: 5, keep_last: 5, resume: auto}
logging: {json_file: log.jsonl, every_steps: 1, level: ERROR}
"""

# name -> call, error, path, calls that succeed before, exit code of the run
FAULTS = {
    "a full disk, for good": ("write", errno.ENOSPC, "/model.safetensors", 16, 4),
    "a full disk at the manifest": ("write", errno.ENOSPC, "/manifest.json", 2, 4),
    "a disk that cannot sync": ("fsync", errno.EIO, "/optimizer.safetensors", 2, 4),
    "a rename that fails": ("rename", errno.EIO, "/step_", 2, 4),
    "a pointer that cannot be replaced": ("rename", errno.EIO, "/latest.json", 2, 4),
    "a file system that became read-only": ("open", errno.EROFS, "/checkpoints/", 12, 4),
}


def run(bin_folder: pathlib.Path, folder: pathlib.Path, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(bin_folder / "stc-host"), "run", "run.yaml"], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **more}, timeout=300)


def prepare(folder: pathlib.Path, source: pathlib.Path) -> None:
    folder.mkdir(parents=True)
    (folder / "run.yaml").write_text(CONFIG)
    (folder / "text.txt").write_bytes((source / "configs/quickstart/text.txt").read_bytes()[:4_000])


def events(folder: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def weights(folder: pathlib.Path) -> bytes:
    return (folder / "out/checkpoints/step_000000000020/model.safetensors").read_bytes()


def check(what: str, good: bool, detail: object = "") -> None:
    if not good:
        sys.exit(f"{what}: {detail}")


def try_fault(name: str, bin_folder: pathlib.Path, shim: str, folder: pathlib.Path, whole: bytes) -> None:
    call, error, path, after, code = FAULTS[name]
    broken = run(bin_folder, folder, LD_PRELOAD=shim, STC_SHIM_FAIL=call, STC_SHIM_ERRNO=str(error), STC_SHIM_PATH=path,
                 STC_SHIM_AFTER=str(after))
    seen = events(folder)
    failed = [event for event in seen if event["event"] == "checkpoint_failed"]
    saved = [event["step"] for event in seen if event["event"] == "checkpoint"]
    check(f"{name}: exit code", broken.returncode == code, (broken.returncode, broken.stderr))
    check(f"{name}: all steps are made", max(e["step"] for e in seen if e["event"] == "train_step") == 20)
    check(f"{name}: the failure is told with its reason", failed and all(os.strerror(error) in e["error"] for e in failed),
          (failed, saved))
    check(f"{name}: earlier saves stand", saved and max(saved) < 20, saved)
    newest = subprocess.run([str(bin_folder / "stc-host"), "inspect", "out/checkpoints"], cwd=folder, capture_output=True,
                            text=True, timeout=120)
    check(f"{name}: there is a whole checkpoint", newest.returncode == 0, newest.stdout + newest.stderr)
    again = run(bin_folder, folder)
    check(f"{name}: the run goes on", again.returncode == 0, again.stderr)
    check(f"{name}: the bits of an unbroken run", weights(folder) == whole)
    left = {entry.name for entry in (folder / "out/checkpoints").iterdir()}
    expected = {entry.name for entry in (folder.parent / "whole/out/checkpoints").iterdir()}
    check(f"{name}: nothing half-written is left", left <= expected, left - expected)
    print(f"{name}: saved {saved}, failed {[event['step'] for event in failed]}")


def main() -> None:
    bin_folder, shim, source, work = (pathlib.Path(argument) for argument in sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    prepare(work / "whole", source)
    done = run(bin_folder, work / "whole")
    check("the unbroken run", done.returncode == 0, done.stderr)
    for index, name in enumerate(FAULTS):
        folder = work / str(index)
        prepare(folder, source)
        try_fault(name, bin_folder, str(shim), folder, weights(work / "whole"))


if __name__ == "__main__":
    main()
