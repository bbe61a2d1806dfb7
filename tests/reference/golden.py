"""Losses of the run files in configs/reference against the recorded ones. See README.md beside this file.

    golden.py check BIN SOURCE     fails when a loss differs by more than 1e-5 of itself, in bf16 1e-3: a last bit of fp32 that
                                   another processor's matrix product rounds otherwise is a whole step of bf16 after it
    golden.py write BIN SOURCE     records the losses of this build

BIN is the folder of stc-host, SOURCE the root of the project.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 1e-5
TOLERANCE_BF16 = 1e-3


def losses_of(host: pathlib.Path, source: pathlib.Path, config: pathlib.Path) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        command = [host, "run", config, "--output-dir", folder, "--set", f"logging.json_file={log}"]
        result = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300)
        if result.returncode != 0:
            sys.exit(f"{config}: stc-host exited with {result.returncode}\n{result.stdout}{result.stderr}")
        events = [json.loads(line) for line in log.read_text().splitlines()]
    return [event["loss"] for event in events if event["event"] == "train_step"]


def main() -> None:
    mode, bin_folder, root = sys.argv[1:]
    source = pathlib.Path(root)
    golden_folder = source / "tests" / "reference" / "golden"
    failed = False
    for config in sorted((source / "configs" / "reference").glob("*.yaml")):
        losses = losses_of(pathlib.Path(bin_folder) / "stc-host", source, config)
        golden = golden_folder / f"{config.stem}.json"
        if mode == "write":
            golden.write_text(json.dumps(losses, indent=1) + "\n")
            print(f"{config.stem}: {len(losses)} losses, {losses[0]:.6f} .. {losses[-1]:.6f}")
            continue
        expected = json.loads(golden.read_text())
        if len(losses) != len(expected):
            sys.exit(f"{config.stem}: {len(losses)} steps, expected {len(expected)}")
        worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
        same = sum(a == b for a, b in zip(losses, expected))
        print(f"{config.stem}: worst {worst:.2e} of a loss, {same} of {len(losses)} equal bit for bit")
        failed = failed or not worst <= (TOLERANCE_BF16 if config.stem == "bf16" else TOLERANCE)
    if failed:
        sys.exit("a loss differs: a change of arithmetic needs new records and a line in CHANGELOG.md that says why")


if __name__ == "__main__":
    main()
