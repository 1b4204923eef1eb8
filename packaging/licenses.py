"""Prints the licences of the crates that the program contains, and of OpenSSL and the other C code in them: each text once, below
the crates that have it. Fails if a crate has neither a text nor a licence whose text is known."""

import os
import re
import sys
from collections import defaultdict
from pathlib import Path

from program_crates import license_expression, packages, reached_crates

NAMES = re.compile(r"(un)?licen[cs]e([-._ ][^/]*)?$|(copying|copyright|notice)([-._][^/]*)?$", re.IGNORECASE)
# Neither is in the program: a tool of OpenSSL's build, and a sample for benchmarks.
OTHER = re.compile(r"(^|/)(external|benches|tests|util)/")
MIT = """Copyright (c) {holders}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do
so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def license_files(folder):
    """Returns the licence files of a crate's folder, sorted."""
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        inside = os.path.relpath(place, folder)
        found += [os.path.normpath(os.path.join(inside, name)) for name in sorted(files) if NAMES.match(name)]
    return [name for name in found if not OTHER.search(name) and Path(name).suffix not in (".rs", ".pm", ".py", ".c", ".h")]


def standard_text(package):
    """Returns the text of the licence of a crate that has no file of it."""
    expression = license_expression(package) or ""
    if "Apache-2.0" in expression:
        return Path("LICENSE").read_text(encoding="utf-8")
    if "MIT" in expression:
        return MIT.format(holders=", ".join(package["authors"]) or f"the authors of {package['name']}")
    sys.exit(f"{package['name']} {package['version']} has no licence file, and {expression!r} has no known text")


texts, crates = {}, defaultdict(set)
for identifier in sorted(reached_crates()):
    package = packages[identifier]
    if package["source"] is None:
        continue
    folder = Path(package["manifest_path"]).parent
    title = f"{package['name']} {package['version']} ({license_expression(package) or package['license_file']})"
    files = license_files(folder)
    contents = [(folder / name).read_text(encoding="utf-8", errors="replace") for name in files] or [standard_text(package)]
    for text in contents:
        key = " ".join(text.split())
        texts.setdefault(key, text.strip("\n"))
        crates[key].add(title)

print("Passerelle contains the following software, under the licences below. The bill of materials of the release lists the same crates.")
for key in sorted(texts, key=lambda key: (sorted(crates[key]), key)):
    print("\n" + "=" * 80 + "\n")
    print("\n".join(sorted(crates[key])) + "\n")
    print("\n".join(line.rstrip() for line in texts[key].splitlines()))
