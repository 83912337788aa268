"""A real cluster under the lab: requests go to it through a relay, where faults strike as they do on the stand-in."""

from __future__ import annotations
