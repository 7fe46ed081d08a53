# SPDX-License-Identifier: Apache-2.0
"""Uploads a CSV file to Sentinel while it grows.

ResourceTracker does not need this: the program uploads its samples.
"""
from __future__ import annotations

import gzip
import os
import threading
import time

from .s3_upload import put_bytes_with_sts
from .sentinel_api import (DataSource, RunStatus, SentinelAPIError, finish_run,
                           refresh_credentials, register_run)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping

_LEAST_INTERVAL_SECONDS = 1
_REFRESH_SECONDS = 300  # before the credentials expire
_JOIN_SECONDS = 30
_FAILURES = (OSError, RuntimeError, SentinelAPIError, KeyError, TypeError)


def _seconds_left(credentials: Mapping[str, Any]) -> float:
    """Until the credentials expire."""
    from datetime import datetime, timezone

    text = credentials.get("expires_at") or credentials.get("expiration")
    try:
        expiry = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return float("inf")
    if expiry.tzinfo is None:
        expiry = expiry.replace(tzinfo=timezone.utc)
    return expiry.timestamp() - time.time()


class StreamingManager:
    """Registers a run, uploads the rows that are new every upload_interval seconds, in a thread, and says
    at the end that the run is over. csv_update_fn is called before the file is read.

    What fails is tried again: rows that were not uploaded are part of the next batch.
    """

    def __init__(self, token: str, csv_path: str | os.PathLike[str], upload_interval: float = 60,
                 metadata: Mapping[str, Any] | None = None,
                 host_info: Mapping[str, Any] | None = None,
                 cloud_info: Mapping[str, Any] | None = None,
                 csv_update_fn: Callable[[], object] | None = None) -> None:
        self.token = token
        self.csv_path = csv_path
        self.upload_interval = max(upload_interval, _LEAST_INTERVAL_SECONDS)
        self.run_id: str | None = None
        self.uploaded_uris: list[str] = []
        self._description = {"metadata": metadata, "host_info": host_info, "cloud_info": cloud_info}
        self._csv_update_fn = csv_update_fn
        self._prefix = ""
        self._credentials: dict[str, Any] = {}
        self._offset = 0  # of what was uploaded
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="streaming-upload", daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Does not wait for the service."""
        self._thread.start()

    def _register(self) -> None:
        if self.run_id is None:
            answer = register_run(self.token, **self._description)
            self._prefix = answer["upload_uri_prefix"].rstrip("/")
            self._credentials = answer["upload_credentials"]
            self.run_id = answer["run_id"]

    def _new_rows(self) -> tuple[bytes, bytes]:
        """The header, and the whole rows that were not uploaded."""
        if self._csv_update_fn is not None:
            self._csv_update_fn()
        with open(self.csv_path, "rb") as file:
            header = file.readline()
            file.seek(max(self._offset, len(header)))
            rows = file.read()
        return header, rows[:rows.rfind(b"\n") + 1]

    def _upload(self) -> None:
        self._register()
        if _seconds_left(self._credentials) <= _REFRESH_SECONDS:
            assert self.run_id is not None
            answer = refresh_credentials(self.token, self.run_id)
            self._credentials = answer["upload_credentials"]
        header, rows = self._new_rows()
        if not rows:
            return
        uri = f"{self._prefix}/{len(self.uploaded_uris):04}.csv.gz"
        put_bytes_with_sts(s3_uri=uri, body=gzip.compress(header + rows), **{
            key: self._credentials.get(key)
            for key in ("access_key", "secret_key", "session_token", "region")})  # type: ignore[arg-type]
        self._offset = max(self._offset, len(header)) + len(rows)
        self.uploaded_uris.append(uri)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except _FAILURES as error:
            from ._log import logger

            logger().warning("the upload has failed and is tried again: %s", error)

    def _run(self) -> None:
        self._attempt(self._register)
        while not self._end.wait(min(self.upload_interval, max(
                _LEAST_INTERVAL_SECONDS, _seconds_left(self._credentials) - _REFRESH_SECONDS))):
            self._attempt(self._upload)

    def stop(self, exit_code: int = 0,
             run_status: RunStatus | str = RunStatus.finished) -> dict[str, Any]:
        """Uploads the rest, says that the run is over, and returns the answer of the service. If nothing
        was uploaded before, the rows are part of that message."""
        self._end.set()
        if self.is_alive:
            self._thread.join(_JOIN_SECONDS)
        if self.uploaded_uris:
            self._upload()
        self._register()
        assert self.run_id is not None
        if self.uploaded_uris:
            return finish_run(self.token, self.run_id, exit_code=exit_code, run_status=run_status,
                              data_uris=self.uploaded_uris)
        header, rows = self._new_rows()
        return finish_run(self.token, self.run_id, exit_code=exit_code, run_status=run_status,
                          data_source=DataSource.inline, data_csv=(header + rows).decode())
