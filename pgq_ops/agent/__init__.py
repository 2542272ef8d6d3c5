"""The sidecar: puts leadership, tasks, probes and the exporter together, and ends them in order."""
