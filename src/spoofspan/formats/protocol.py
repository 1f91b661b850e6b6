"""The documented place of :func:`read_protocol`, which lives in :mod:`spoofspan.formats.text.protocol`."""

from spoofspan.formats.text.protocol import read_protocol as read_protocol
