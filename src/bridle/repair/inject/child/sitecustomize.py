"""Runs first in every Python that a test starts: it must see the candidate's edit too."""

from __future__ import annotations

import contextlib
import json
import os
import sys

with contextlib.suppress(Exception):
    _here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != _here]
    sys.path.insert(0, os.path.dirname(_here))
    from bridle_probe.patching import Overlay

    sys.path.pop(0)
    with open(os.environ["BRIDLE_REPAIR_OVERLAY"], encoding="utf-8") as _file:
        sys.meta_path.insert(0, Overlay(json.load(_file), None))
