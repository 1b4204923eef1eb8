"""Prints the software bill of materials as CycloneDX 1.5, from `cargo metadata`: the crates of the program, their build
dependencies, and the dependencies between them. Crates that only tests need are not included."""

import json
import os
import subprocess
import uuid
from datetime import datetime, timezone

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
# What `cargo metadata` resolves has the features that tests turn on; what `cargo tree` prints is what the program is built from.
tree = subprocess.run(
    ["cargo", "tree", "--locked", "--edges", "no-dev", "--prefix", "none", "--format", "{p}"], check=True, capture_output=True, text=True
).stdout
built = {tuple(line.split(" ")[:2]) for line in tree.splitlines() if line}
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
root = metadata["resolve"]["root"]

with open("Cargo.lock", encoding="utf-8") as lock:
    blocks = [dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line) for block in lock.read().split("[[package]]")]
checksums = {(b["name"].strip('"'), b["version"].strip('"')): b["checksum"].strip('"') for b in blocks if "checksum" in b}


def dependencies(identifier):
    """Returns the crates that a crate depends on, without those of its tests."""
    names = [d["pkg"] for d in nodes[identifier]["deps"] if any(kind["kind"] != "dev" for kind in d["dep_kinds"])]
    return [name for name in names if (packages[name]["name"], f"v{packages[name]['version']}") in built]


def reference(identifier):
    return f"pkg:cargo/{packages[identifier]['name']}@{packages[identifier]['version']}"


def component(identifier):
    package = packages[identifier]
    entry = {
        "type": "application" if identifier == root else "library",
        "bom-ref": reference(identifier),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(identifier),
    }
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := checksums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


reached, waiting = set(), [root]
while waiting:
    identifier = waiting.pop()
    if identifier not in reached:
        reached.add(identifier)
        waiting += dependencies(identifier)
ordered = sorted(reached, key=reference)
bom = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {
        "timestamp": datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "component": component(root),
    },
    "components": [component(identifier) for identifier in ordered if identifier != root],
    "dependencies": [
        {"ref": reference(identifier), "dependsOn": sorted({reference(other) for other in dependencies(identifier)})}
        for identifier in ordered
    ],
}
# The same content has the same serial number.
bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))}"
print(json.dumps(bom, indent=1, sort_keys=True))
