"""Objects in YAML files that are named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from shards.errors import ConfigError


def read_documents(option: str, file: Path) -> list[Any]:
    """The documents of a file in order, without those that are null. option: what is to blame. Raises ConfigError."""
    try:
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(option, f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(option, f"{file} is not valid YAML: {error}") from error
    return [each for each in documents if each is not None]
