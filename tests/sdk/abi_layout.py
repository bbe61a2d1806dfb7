#!/usr/bin/env python3
"""The binary surface of stc/abi: every constant, struct, offset, size and function type.

usage: abi_layout.py [--update] INCLUDE SURFACE_FILE COMPILER

Reads the declarations from the headers, lets the compiler say offsets and values, and compares the result
with the committed file. A difference is a change of the ABI: --update accepts it, and the change log names it.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def split_members(body):
    """Declarations of a struct body, one a string."""
    return [squeezed(part) for part in body.split(";") if part.strip()]


def member_names(declaration):
    """(name, type) of each declarator of one declaration."""
    function = re.match(r"(.*?)\(\*\s*(\w+)\)\s*\((.*)\)$", declaration)
    if function:
        result, name, arguments = function.groups()
        return [(name, f"{squeezed(result)} (*)({squeezed(arguments)})")]
    first, *others = declaration.split(",")
    match = re.match(r"(.*?[\s*])(\w+)((?:\[\w+\])*)$", first)
    if not match:
        raise SystemExit(f"cannot read the declaration: {declaration}")
    base, name, array = match.groups()
    names = [(name, squeezed(base) + array)]
    for other in others:
        names.append((other.strip(), squeezed(base)))
    return names


def read_headers(include):
    structs, functions, macros = [], [], []
    for path in sorted((include / "stc" / "abi").glob("*.h")):
        text = without_comments(path.read_text())
        for name in re.findall(r"^#define (STC_\w+)[ \t]+\S", text, flags=re.M):
            macros.append(name)
        code = re.sub(r"^\s*#[^\n]*$", "", text, flags=re.M)
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}\s*\1\s*;", code, flags=re.S):
            members = [pair for declaration in split_members(body) for pair in member_names(declaration)]
            structs.append((name, members))
        found = re.findall(r"typedef struct \w+ \{", code)
        here = re.findall(r"typedef struct (\w+) \{(.*?)\}\s*\1\s*;", code, flags=re.S)
        if len(found) != len(here):
            raise SystemExit(f"{path}: {len(found)} structs, read {len(here)}")
        for declaration in re.findall(r"typedef ([^;{}]*\(\*\w+\)[^;{}]*);", code):
            functions.extend(member_names(squeezed(declaration)))
    return structs, functions, macros


def program(structs, macros):
    lines = [
        "#include <stdio.h>",
        '#include "stc/abi.h"',
        '#define SHOW(x) _Generic((x), char*: show_text, const char*: show_text, default: show_number)(#x, (x))',
        "static void show_text(const char* name, const char* value) { printf(\"%s = \\\"%s\\\"\\n\", name, value); }",
        "static void show_number(const char* name, long long value) { printf(\"%s = %lld\\n\", name, value); }",
        "int main(void) {",
    ]
    for name in macros:
        lines.append(f"  SHOW({name});")
    for name, members in structs:
        lines.append(f'  printf("\\nstruct {name}: %zu bytes, align %zu\\n", sizeof({name}), _Alignof({name}));')
        for member, kind in members:
            where = f"offsetof({name}, {member}), sizeof((({name}*)0)->{member})"
            lines.append(f'  printf("  %4zu %4zu  {member}: {kind}\\n", {where});')
    return "\n".join(lines + ["  return 0;", "}", ""])


def check_coverage(text):
    """Members follow each other without gaps that alignment does not explain: none was overlooked."""
    for block in text.split("\nstruct ")[1:]:
        head, *rows = block.strip().splitlines()
        total, align = map(int, re.search(r": (\d+) bytes, align (\d+)", head).groups())
        end = 0
        for row in rows:
            offset, size = map(int, row.split()[:2])
            if not 0 <= offset - end < align:
                raise SystemExit(f"struct {head}: a member before {row.strip()} was overlooked")
            end = offset + size
        if total - end >= align:
            raise SystemExit(f"struct {head}: its last member was overlooked")


def main(arguments):
    update = "--update" in arguments
    include, surface, compiler = [a for a in arguments if a != "--update"]
    structs, functions, macros = read_headers(pathlib.Path(include))
    with tempfile.TemporaryDirectory() as scratch:
        source, binary = pathlib.Path(scratch, "layout.c"), pathlib.Path(scratch, "layout")
        source.write_text(program(structs, macros))
        subprocess.run([compiler, "-std=c11", f"-I{include}", source, "-o", binary], check=True)
        text = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    check_coverage(text)
    text += "\n" + "".join(f"typedef {name}: {kind}\n" for name, kind in functions)
    path = pathlib.Path(surface)
    if update:
        path.write_text(text)
        return 0
    before = path.read_text() if path.exists() else ""
    difference = list(difflib.unified_diff(before.splitlines(), text.splitlines(), str(path), "stc/abi/*.h", lineterm=""))
    print("\n".join(difference))
    print(f"{len(structs)} structs, {len(macros)} constants, {len(functions)} function types, {len(difference)} lines differ")
    if difference:
        print(f"hint: a change of the ABI; accept it with tests/sdk/abi_layout.py --update {include} {surface} {compiler}")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
