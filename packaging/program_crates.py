"""The crates of the program and its build dependencies, from `cargo metadata`, without those that only tests need."""

import json
import subprocess

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


def dependencies(identifier):
    """Returns the crates that a crate depends on, without those of its tests."""
    names = [d["pkg"] for d in nodes[identifier]["deps"] if any(kind["kind"] != "dev" for kind in d["dep_kinds"])]
    return [name for name in names if (packages[name]["name"], f"v{packages[name]['version']}") in built]


def reached_crates():
    """Returns the identifiers of the root package and of every crate that it depends on."""
    reached, waiting = set(), [root]
    while waiting:
        identifier = waiting.pop()
        if identifier not in reached:
            reached.add(identifier)
            waiting += dependencies(identifier)
    return reached


def license_expression(package):
    return package["license"] and package["license"].replace("/", " OR ")
