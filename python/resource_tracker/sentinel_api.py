# SPDX-License-Identifier: Apache-2.0
"""The API of Sentinel, the service of Spare Cores that collects the samples of runs.

ResourceTracker does not need these functions: the program uploads. SENTINEL_API_URL replaces the
address of the service.
"""
from __future__ import annotations

import json
import os
from enum import Enum

from spoor._call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

DEFAULT_API_URL = "https://api.sentinel.sparecores.net"
_TIMEOUT_SECONDS = 30
_CLOUD_NAMES = {"vendor": "vendor_id", "region": "region_id", "zone": "zone_id",
                "account": "account_id"}


class RunStatus(str, Enum):
    finished = "finished"
    failed = "failed"


class DataSource(str, Enum):
    s3 = "s3"
    inline = "inline"


class SentinelAPIError(Exception):
    """The service has answered with another status than success."""

    def __init__(self, status_code: int, body: str) -> None:
        super().__init__(f"Sentinel has answered with status {status_code}: {body}")
        self.status_code = status_code
        self.body = body


def _post(token: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Raises ConnectionError if there is no answer."""
    url = (os.environ.get("SENTINEL_API_URL") or DEFAULT_API_URL).rstrip("/")
    request = {"method": "POST", "url": url + path, "timeout": _TIMEOUT_SECONDS,
               "headers": [f"Authorization: Bearer {token}", "Content-Type: application/json",
                           "Accept: application/json"],
               "body": "" if body is None else json.dumps(body)}
    answer = Call("resource-tracker", "agent-request", request=request).result()
    if "error" in answer:
        raise ConnectionError(answer["error"])
    text = answer["body"] or ""
    if not 200 <= answer["status"] < 300:
        raise SentinelAPIError(answer["status"], text)
    try:
        return dict(json.loads(text)) if text else {}
    except ValueError:
        raise SentinelAPIError(answer["status"], text) from None


def describe_run(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata as the service wants it: without None, and a command as a JSON list of words."""
    found = {key: value for key, value in (metadata or {}).items() if value is not None}
    command = found.get("command")
    if command is not None:
        if isinstance(command, str):
            import shlex

            command = shlex.split(command)
        found["command"] = json.dumps([str(word) for word in command])
    return found


def _prefixed(prefix: str, facts: Mapping[str, Any] | None,
              names: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for key, value in (facts or {}).items():
        name = key if key.startswith(prefix) else prefix + names.get(key, key)
        found[name] = value
    return found


def register_run(token: str, metadata: Mapping[str, Any] | None = None, *,
                 host_info: Mapping[str, Any] | None = None,
                 cloud_info: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Registers a run. The answer has run_id, upload_uri_prefix and upload_credentials.

    metadata may have project_name, job_name, stage_name, task_name, external_run_id, pid,
    container_image, command, env, language, orchestrator, executor, team and tags. host_info and
    cloud_info are as those of get_server_info() and get_cloud_info().
    """
    fields = {**describe_run(metadata), **_prefixed("host_", host_info, {}),
              **_prefixed("cloud_", cloud_info, _CLOUD_NAMES)}
    return _post(token, "/runs", {key: value for key, value in fields.items() if value is not None})


def _run_path(run_id: str, action: str) -> str:
    from urllib.parse import quote

    return f"/runs/{quote(str(run_id), safe='')}/{action}"


def refresh_credentials(token: str, run_id: str) -> dict[str, Any]:
    """New upload_credentials for a run."""
    return _post(token, _run_path(run_id, "refresh-credentials"))


def finish_run(token: str, run_id: str, *, exit_code: int = 0,
               run_status: RunStatus | str = RunStatus.finished,
               data_source: DataSource | str = DataSource.s3,
               data_uris: Sequence[str] | None = None,
               data_csv: str | None = None) -> dict[str, Any]:
    """Says that a run is over, and returns what the service makes of its samples: those in objects of
    S3 (data_uris), or those in data_csv."""
    source = DataSource(data_source)
    body: dict[str, Any] = {"exit_code": exit_code, "run_status": RunStatus(run_status).value,
                            "data_source": source.value}
    if source is DataSource.s3 and data_uris is not None:
        body["data_uris"] = list(data_uris)
    elif source is DataSource.inline and data_csv is not None:
        body["data_csv"] = data_csv
    else:
        name = "data_uris" if source is DataSource.s3 else "data_csv"
        raise ValueError(f"{name} is required if data_source is {source.value!r}")
    return _post(token, _run_path(run_id, "finish"), body)
