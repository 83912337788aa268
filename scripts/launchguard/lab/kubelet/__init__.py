"""A stand-in for the kubelet and the scheduler of Kubernetes: pods become real processes."""

from __future__ import annotations
