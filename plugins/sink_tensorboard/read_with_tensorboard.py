"""Prints what TensorBoard reads from a folder of event files, as JSON.

usage: read_with_tensorboard.py FOLDER

{"scalars": {tag: [[step, value], ...]}, "texts": {tag: [[step, text], ...]}}, after TensorBoard has dropped the steps
that a later part of the run makes again. Needs the Python package tensorboard.
"""

import json
import sys

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util


def main() -> None:
    folder = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
    folder.Reload()
    scalars = {
        tag: [[event.step, event.value] for event in folder.Scalars(tag)] for tag in folder.Tags()["scalars"]
    }
    texts = {
        tag: [[event.step, tensor_util.make_ndarray(event.tensor_proto)[0].decode()] for event in folder.Tensors(tag)]
        for tag in folder.Tags()["tensors"]
    }
    print(json.dumps({"scalars": scalars, "texts": texts}))


if __name__ == "__main__":
    main()
