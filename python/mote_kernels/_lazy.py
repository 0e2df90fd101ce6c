# SPDX-License-Identifier: Apache-2.0
"""A module that is imported when it is first used."""

from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        module = importlib.import_module(self._name)
        value = getattr(module, attribute)
        self.__dict__[attribute] = value  # the next time it is found at once
        return value
