"""Adapts the links of installed pages: pages.py FOLDER, which has the documentation in the same folders as the repository.

A link to a file that packages do not contain (source code, tests) becomes its text. Fails if a page links to a missing file of
an installed folder.
"""

import os
import re
import sys
from pathlib import Path

folder = Path(sys.argv[1])
# A fenced block and a code span are left unchanged.
PARTS = re.compile(
    r"^ *```.*?^ *```|!?\[(?P<text>(?:`[^`\n]*`|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)|`[^`\n]*`", re.DOTALL | re.MULTILINE
)
missing = []


def adapt(page, part):
    target = part["target"]
    if target is None or re.match(r"[a-z]+:|#", target):
        return part[0]
    path = Path(os.path.normpath(page.parent / target.partition("#")[0]))
    if path.exists():
        return part[0]
    if folder not in path.parents or (folder / path.relative_to(folder).parts[0]).exists():
        missing.append(f"{page.relative_to(folder)}: {target}")
    return part["text"]


for page in sorted(folder.rglob("*.md")):
    text = page.read_text(encoding="utf-8")
    page.write_text(PARTS.sub(lambda part: adapt(page, part), text), encoding="utf-8")
if missing:
    sys.exit("packaging/pages.py: links to files that are missing:\n" + "\n".join(missing))
