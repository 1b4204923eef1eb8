"""Prints the software bill of materials as CycloneDX 1.5: the crates of the program, their build dependencies, and the
dependencies between them."""

import json
import os
import uuid
from datetime import datetime, timezone

from program_crates import dependencies, license_expression, packages, reached_crates, root

with open("Cargo.lock", encoding="utf-8") as lock:
    blocks = [dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line) for block in lock.read().split("[[package]]")]
checksums = {(b["name"].strip('"'), b["version"].strip('"')): b["checksum"].strip('"') for b in blocks if "checksum" in b}


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
    if expression := license_expression(package):
        entry["licenses"] = [{"expression": expression}]
    if checksum := checksums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


ordered = sorted(reached_crates(), key=reference)
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
