"""Writes an OCI image layout with one layer, which `docker load` takes too: oci.py LAYER.tar FOLDER VERSION ARCHITECTURE LEVEL.

Settings are those of deploy/container/Containerfile. OCI Image Format Specification 1.1: image-layout.md, manifest.md,
config.md.
"""

import gzip
import hashlib
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

layer_file, folder, version, architecture, level = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
created = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
labels = {
    "org.opencontainers.image.title": "passerelle",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.created": created,
}
blobs = folder / "blobs" / "sha256"
blobs.mkdir(parents=True)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def add_blob(data, media_type):
    """Stores a blob and returns its descriptor."""
    (blobs / digest(data)).write_bytes(data)
    return {"mediaType": media_type, "digest": f"sha256:{digest(data)}", "size": len(data)}


def add_json(value, media_type):
    return add_blob(json.dumps(value, separators=(",", ":"), sort_keys=True).encode(), media_type)


plain = layer_file.read_bytes()
layer = add_blob(gzip.compress(plain, level, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip")
config = add_json(
    {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": "65532:65532",
            "Env": [
                "PATH=/usr/bin",
                "PASSERELLE_PUBLIC__LISTEN=0.0.0.0:8080",
                "PASSERELLE_PRIVATE__LISTEN=0.0.0.0:9090",
                "PASSERELLE_PRIVATE__INSECURE_HTTP=true",
                "PASSERELLE_STATE=/var/lib/passerelle",
                "PASSERELLE_CONNECTORS=/etc/passerelle/connectors",
            ],
            "ExposedPorts": {"8080/tcp": {}, "9090/tcp": {}},
            "Entrypoint": ["/usr/bin/passerelle"],
            "Cmd": ["serve", "--config", "/etc/passerelle"],
            "StopSignal": "SIGTERM",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(plain)}"]},
        "history": [{"created": created, "created_by": "packaging/build"}],
    },
    "application/vnd.oci.image.config.v1+json",
)
media_type = "application/vnd.oci.image.manifest.v1+json"
manifest = add_json(
    {"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer], "annotations": labels}, media_type
)
manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
manifest["platform"] = {"os": "linux", "architecture": architecture}
index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}
(folder / "index.json").write_text(json.dumps(index, separators=(",", ":"), sort_keys=True))
# The manifest of `docker save`: other tools ignore it.
blob = lambda descriptor: f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"
docker = [{"Config": blob(config), "RepoTags": [f"passerelle:{version}"], "Layers": [blob(layer)]}]
(folder / "manifest.json").write_text(json.dumps(docker, separators=(",", ":"), sort_keys=True))
(folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
