"""Creates valid and invalid certificates of an invented authority with the program ``openssl``."""

from __future__ import annotations

import subprocess
from pathlib import Path

_CONFIG = """
[ca]
default_ca = made_up
[made_up]
dir = {folder}
database = $dir/index.txt
new_certs_dir = $dir
serial = $dir/serial
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


class Authority:
    """An authority that signs certificates; ``file`` is the authority's own certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = folder / "ca.key"
        self.file = folder / "ca.pem"
        (folder / "index.txt").write_bytes(b"")
        (folder / "serial").write_bytes(b"01")
        self._config = folder / "ca.conf"
        self._config.write_bytes(_CONFIG.format(folder=folder).encode())
        _openssl(
            f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=made-up -keyout {self._key} "
            f"-out {self.file}"
        )

    def sign(self, address: str, *, until: str = "20990101000000Z") -> tuple[Path, Path]:
        """Return a certificate for an address, and the certificate's key."""
        name = f"{address}-{until}"
        certificate, key, request = (
            self._folder / f"{name}.{end}" for end in ("pem", "key", "csr")
        )
        if certificate.exists():
            return certificate, key
        _openssl(
            f"req -newkey rsa:2048 -nodes -subj /CN={name} -addext subjectAltName=IP:{address} "
            f"-keyout {key} -out {request}"
        )
        _openssl(
            f"ca -batch -notext -config {self._config} -cert {self.file} -keyfile {self._key} "
            f"-startdate 20200101000000Z -enddate {until} -in {request} -out {certificate}"
        )
        return certificate, key


def _openssl(arguments: str) -> None:
    subprocess.run(["openssl", *arguments.split()], capture_output=True, check=True)
