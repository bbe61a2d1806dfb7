"""pinned.py SOURCE: each error that the product throws has a part of its text in a test, or stands in unpinned.txt with the reason.

A new message without a test fails here. That a text stands in a test does not prove that the test brings the error about: write
it so that it does.
"""

import pathlib
import re
import sys

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
JOINED = re.compile(r'"\s*\n\s*"')
# Statements that make an error: a throw, or a function of a file that throws for it.
THROW = re.compile(r"\bthrow\b[^;]*;|\b(?:fail|refuse|refused|wrong|problem|broke|usage_error)\((?:[^;]|\n)*?\);")
LEAST = 6  # shorter parts of a text say too little


def is_test(path: pathlib.Path) -> bool:
    return path.parts[0] == "tests" or "test" in path.parts[:-1] or "testing" in path.parts or path.stem.endswith("_test")


def files(source: pathlib.Path, folders: tuple[str, ...], endings: tuple[str, ...]) -> list[pathlib.Path]:
    return sorted(path.relative_to(source) for folder in folders for path in (source / folder).rglob("*")
                  if path.suffix in endings and path.is_file())


def text_of(path: pathlib.Path) -> str:
    return JOINED.sub("", path.read_text(errors="replace")).replace('\\"', '"')


def parts(statement: str) -> list[str]:
    code = re.sub(r"//[^\n]*", "", statement)
    texts = (text.replace("\\\"", "\"").strip(" :,.;()\"") for text in LITERAL.findall(JOINED.sub("", code)))
    return [text for text in texts if len(text) >= LEAST]


def errors(source: pathlib.Path):
    for path in files(source, ("host", "plugins", "sdk/include"), (".cpp", ".hpp")):
        if is_test(path):
            continue
        code = (source / path).read_text()
        for match in THROW.finditer(code):
            found = parts(match.group(0))
            if found:
                yield path, code[: match.start()].count("\n") + 1, found


def exceptions(source: pathlib.Path) -> dict[tuple[str, str], str]:
    out = {}
    for line in (source / "tests/errors/unpinned.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            path, text, reason = (word.strip() for word in line.split(" | "))
            out[(path, text)] = reason
    return out


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    tests = [path for path in files(source, ("tests", "plugins", "sdk"), (".cpp", ".hpp", ".yaml", ".py")) if is_test(path)]
    said = "\n".join(text_of(source / path) for path in tests)
    allowed, used, count, missing = exceptions(source), set(), 0, []
    for path, line, found in errors(source):
        count += 1
        longest = max(found, key=len)
        if any(text in said for text in found if len(text) >= 9 or text == longest):
            continue
        key = (str(path), longest)
        used.add(key)
        if key not in allowed:
            missing.append(f"{path}:{line}: no test says {longest!r}")
    unused = [f"tests/errors/unpinned.txt: {path} | {text}: is pinned, or gone" for path, text in allowed if (path, text) not in used]
    for fault in missing + unused:
        print(fault)
    print(f"{count} errors, {len(allowed)} of them without a test for a stated reason")
    return 1 if missing or unused else 0


if __name__ == "__main__":
    sys.exit(main())
