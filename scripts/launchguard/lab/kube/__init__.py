"""A stand-in for the Kubernetes API server: the store and its rules, and the HTTP layer on top."""

from __future__ import annotations
