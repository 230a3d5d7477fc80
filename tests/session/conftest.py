from __future__ import annotations

from support.replaying import model as model
from support.replaying import opened as opened
