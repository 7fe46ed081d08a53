# SPDX-License-Identifier: Apache-2.0
"""Uploads to Amazon S3 with temporary credentials."""
from __future__ import annotations

import os

from spoor._call import Call


def put_object_with_sts(*, s3_uri: str, file_path: str | os.PathLike[str], access_key: str, secret_key: str,
                        session_token: str | None, region: str | None = None,
                        timeout: float = 30) -> None:
    """Uploads a file as the object s3://BUCKET/KEY; a RuntimeError says why it could not. Without the
    region of the bucket, S3 is asked for it."""
    request = {"s3_uri": s3_uri, "body_file": os.path.abspath(os.fspath(file_path)),
               "timeout": timeout, "signature": {
                   "access_key": access_key, "secret_key": secret_key,
                   "session_token": session_token, "region": region}}
    answer = Call("resource-tracker", "agent-request", request=request).result()
    if "error" in answer:
        raise RuntimeError(answer["error"])


def put_bytes_with_sts(*, s3_uri: str, body: bytes, access_key: str, secret_key: str,
                       session_token: str | None, region: str | None = None,
                       timeout: float = 30) -> None:
    """The same with the contents of the object."""
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="resource_tracker-") as file:
        file.write(body)
        file.flush()
        put_object_with_sts(s3_uri=s3_uri, file_path=file.name, access_key=access_key,
                            secret_key=secret_key, session_token=session_token, region=region,
                            timeout=timeout)
