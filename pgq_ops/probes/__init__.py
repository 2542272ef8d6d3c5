"""From what was read to metrics: one probe a file, each behind the Protocol in `probe`."""
