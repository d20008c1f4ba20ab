"""The boards: one module each, which has it as BOARD."""
