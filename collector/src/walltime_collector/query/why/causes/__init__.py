"""What carries a difference: components and the calls behind them, the process, waits, single transactions."""
