"""Counts test cases: count_tests.py RESULTS STATUS.

RESULTS holds ctest.junit, written by ctest, and NAME.xml for each entry that is a Boost.Test executable. An entry
with such a file counts as many cases as the file has; one without counts as one case. STATUS is ctest's exit
code. Prints "N passed, N failed" as its last line; the exit code is 0 when all passed and there were some.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def boost_counts(path):
    """(passed, failed) of a JUnit file of Boost.Test; None when it is absent or cut short.

    Only the head is read: messages of tests may hold bytes that are no XML. `tests` leaves out skipped cases.
    """
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    head = re.search(r"<testsuite ([^>]*)>", text)
    if head is None or "</testsuite>" not in text:
        return None
    numbers = {key: int(value) for key, value in re.findall(r'(\w+)="(\d+)"', head.group(1))}
    failed = numbers["errors"] + numbers["failures"]
    return numbers["tests"] - failed, failed


def entry_counts(entry, results):
    name, state = entry.get("name"), entry.get("status")
    if state in ("notrun", "disabled"):
        # A test that skipped itself said why in its output; an executable that is missing is a failure.
        skipped = entry.find("skipped")
        itself = skipped is not None and skipped.get("message", "").startswith("SKIP_")
        return (0, 0) if state == "disabled" or itself else (0, 1)
    counts = boost_counts(results / f"{name}.xml")
    if counts is None:
        return (1, 0) if state == "run" else (0, 1)
    passed, failed = counts
    if state == "fail" and failed == 0:
        failed = 1  # it ended badly after its cases, or at its time limit
    return passed, failed


def main():
    results, status = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    passed = failed = 0
    bad = []
    junit = results / "ctest.junit"
    if junit.exists():
        for entry in ElementTree.parse(junit).getroot().iter("testcase"):
            good, wrong = entry_counts(entry, results)
            passed += good
            failed += wrong
            if wrong:
                bad.append(f"{entry.get('name')}: {wrong} failed")
    if status != 0 and failed == 0:
        failed = 1
        bad.append(f"ctest ended with {status}")
    for line in bad:
        print(line)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
