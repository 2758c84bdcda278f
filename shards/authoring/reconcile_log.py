"""What one reconcile says."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from shards.veil import Veil


class ReconcileLog(logging.LoggerAdapter[logging.Logger]):
    """Puts controller, key and shard before each message, and into the record for structured handlers.

    No message, argument or traceback shows a value of a Secret that the reconcile saw or sent.
    """

    def __init__(self, extra: Mapping[str, object], veil: Callable[[], Veil | None]) -> None:
        """extra: controller, key and shard."""
        super().__init__(logging.getLogger("shards.reconcile"), extra)
        self._veil = veil

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if not self.isEnabledFor(level):
            return
        veil = self._veil()
        if veil is not None:
            msg, args = veil(_formatted(msg, args)), ()
            given = kwargs.pop("exc_info", None)
            if given:
                error = given[1] if isinstance(given, tuple) else given
                error = error if isinstance(error, BaseException) else sys.exception()
                msg = f"{msg}\n{veil(''.join(traceback.format_exception(error)).rstrip())}"
        # Whoever called is one frame further up than this.
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        message, options = self.process(msg, kwargs)
        self.logger.log(level, message, *args, **options)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        extra = dict(self.extra or {})
        kwargs["extra"] = {**extra, **(kwargs.get("extra") or {})}
        return f"{extra['controller']} {extra['key']} {msg}", kwargs


def _formatted(msg: object, args: tuple[object, ...]) -> str:
    """As the standard library formats it; what does not fit its format is told as it came."""
    try:
        return logging.LogRecord("", logging.NOTSET, "", 0, msg, args, None).getMessage()
    except Exception:
        return f"{msg} {args}"
