"""Counts `unsafe` in the sources of the crates that are built into the program: blocks, functions, traits and implementations.

    python3 packaging/count_unsafe.py [--all]

The count is an upper bound: it excludes comments, strings, tests, benchmarks and examples, but includes code behind features and for
other systems. Prints the sum and the crates with the highest counts, with --all every crate. docs/security/dependencies.md has the
figures and their date.
"""

import json
import pathlib
import re
import subprocess
import sys

EXCLUDED_FOLDERS = {"tests", "benches", "examples", "fuzz", "target"}
# Comments, raw strings, strings and characters, which may contain the word `unsafe`.
NON_CODE = re.compile(
    r"""//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL
)
UNSAFE = re.compile(r"\bunsafe\s+(?:\{|fn\b|impl\b|trait\b|extern\b)")

host = next(
    line.removeprefix("host: ")
    for line in subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout.splitlines()
    if line.startswith("host: ")
)
metadata = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host], check=True, capture_output=True
    ).stdout
)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
root = metadata["resolve"]["root"]


def linked_crates():
    """Returns the crates that are linked into the program: direct and indirect dependencies, without build dependencies and macros."""
    found, waiting = set(), [root]
    while waiting:
        identifier = waiting.pop()
        if identifier in found or any("proc-macro" in target["kind"] for target in packages[identifier]["targets"]):
            continue
        found.add(identifier)
        for dependency in nodes[identifier]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return found


def count_unsafe(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = (file for file in folder.rglob("*.rs") if not EXCLUDED_FOLDERS & set(file.relative_to(folder).parts))
    return sum(len(UNSAFE.findall(NON_CODE.sub(" ", file.read_text(encoding="utf-8", errors="replace")))) for file in files)


counts = sorted(((count_unsafe(packages[identifier]), packages[identifier]) for identifier in linked_crates()), key=lambda pair: (-pair[0], pair[1]["name"]))
own = next(number for number, package in counts if package["id"] == root)
print(f"{sum(number for number, _ in counts)} in {len(counts)} crates; {sum(not number for number, _ in counts)} crates have none; passerelle has {own}")
for number, package in counts if "--all" in sys.argv else counts[:12]:
    print(f"{number:6} {package['name']} {package['version']}")
