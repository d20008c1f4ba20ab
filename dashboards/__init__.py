"""Grafana dashboards as code: queries/*.sql and one Python file per dashboard → build.py → generated/*.json."""
