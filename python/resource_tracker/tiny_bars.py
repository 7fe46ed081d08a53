# SPDX-License-Identifier: Apache-2.0
"""render_template: texts with placeholders.

    {{a.b}}                           a value, escaped for HTML
    {{{a.b}}}                         as it is
    {{a.b | round:2 | pretty_number}} changed by filters
    {{#if a.b}}...{{#else}}...{{/if}} a value that is missing is false
    {{#each a.b as x}}...{{x.c}}...{{/each}}

A dot selects the key of a dict, the column of a TinyDataFrame, or an attribute. A placeholder that
cannot be replaced becomes "[Error: placeholder - reason]".
"""
from __future__ import annotations

import html
import re

from .helpers import round_memory
from .tiny_data_frame import TinyDataFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping

_TAG = re.compile(r"\{\{\{(?P<raw>.+?)\}\}\}|\{\{(?P<tag>.+?)\}\}", re.DOTALL)
_EACH = re.compile(r"(?P<list>.+?)\s+as\s+(?P<name>\w+)", re.DOTALL)


def _get_part(value: Any, part: str, path: str) -> Any:
    try:
        found = value[part] if isinstance(value, (dict, TinyDataFrame)) else getattr(value, part)
    except (KeyError, AttributeError):
        found = None
    if found is None:
        raise KeyError(f"{part} not found in {path}")
    return found


def _pretty_number(value: float, digits: str = "0") -> str:
    text = f"{value:,.{int(digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _local_time(value: float) -> str:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(value, timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


_FILTERS: dict[str, Callable[..., Any]] = {
    "index": lambda value, place: value[place] if isinstance(value, dict) else value[int(place)],
    "pretty_number": _pretty_number,
    "divide": lambda value, divisor: value / float(divisor),
    "round": lambda value, digits="0": round(value, int(digits)),
    "round_memory": round_memory,
    "unix_timestamp_to_local_tz_string": _local_time}


def _evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    path, *filters = (text.strip() for text in expression.split("|"))
    value: Any = dict(context)
    for part in path.split("."):
        value = _get_part(value, part.strip(), path)
    for text in filters:
        name, *arguments = (word.strip() for word in text.split(":", 1))
        if name not in _FILTERS:
            raise ValueError(f"unknown filter {name!r}")
        value = _FILTERS[name](value, *arguments)
    return value


def _error(expression: str, error: Exception) -> str:
    reason = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f"[Error: {expression} - {reason}]"


class _Renderer:
    """Renders from the current position of a template to the end of a block."""

    def __init__(self, template: str) -> None:
        self._template = template
        self._position = 0

    def render(self, context: Mapping[str, Any], is_shown: bool) -> tuple[str, str]:
        """The text up to {{#else}}, {{/if}}, {{/each}} or the end, and which of them it is. Nothing
        is evaluated that is not shown."""
        parts = []
        while True:
            match = _TAG.search(self._template, self._position)
            parts.append(self._template[self._position:match.start() if match else None])
            self._position = match.end() if match else len(self._template)
            if match is None:
                return "".join(parts), ""
            tag = (match["raw"] or match["tag"]).strip()
            word, _, rest = tag.partition(" ")
            if match["tag"] and word in ("#else", "/if", "/each"):
                return "".join(parts), word
            if match["tag"] and word == "#if":
                parts.append(self._render_if(rest.strip(), context, is_shown))
            elif match["tag"] and word == "#each":
                parts.append(self._render_each(rest.strip(), context, is_shown))
            elif is_shown:
                parts.append(self._render_value(tag, context, bool(match["raw"])))

    @staticmethod
    def _render_value(expression: str, context: Mapping[str, Any], is_raw: bool) -> str:
        try:
            text = str(_evaluate(expression, context))
        except Exception as error:
            return _error(expression, error)
        return text if is_raw else html.escape(text, quote=True)

    def _render_if(self, expression: str, context: Mapping[str, Any], is_shown: bool) -> str:
        try:
            is_true = is_shown and bool(_evaluate(expression, context))
        except Exception:
            is_true = False
        text, end = self.render(context, is_true)
        if end == "#else":
            otherwise, _ = self.render(context, is_shown and not is_true)
            return text if is_true else otherwise if is_shown else ""
        return text if is_true else ""

    def _render_each(self, expression: str, context: Mapping[str, Any], is_shown: bool) -> str:
        start = self._position
        match = _EACH.fullmatch(expression)
        parts = []
        try:
            if match is None:
                raise ValueError("expected LIST as NAME")
            items = list(_evaluate(match["list"], context)) if is_shown else []
        except Exception as error:
            items = []
            parts.append(_error(f"#each {expression}", error))
        for item in items:
            self._position = start
            assert match is not None
            parts.append(self.render({**context, match["name"]: item}, True)[0])
        if not items:
            self.render(context, False)
        return "".join(parts)


def render_template(template: str, context: Mapping[str, Any]) -> str:
    """Replaces the placeholders of a template by values of the context."""
    renderer = _Renderer(template)
    parts = []
    while renderer._position < len(template):  # the end of a block that has no start is skipped
        parts.append(renderer.render(context, True)[0])
    return "".join(parts)
