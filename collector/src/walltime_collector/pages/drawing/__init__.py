"""What the drawings of the pages show, besides the charts over time of charts.py."""
