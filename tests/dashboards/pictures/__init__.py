"""Pictures of the boards: Grafana's own packages, in Chromium, draw what a collector answers to their queries."""
