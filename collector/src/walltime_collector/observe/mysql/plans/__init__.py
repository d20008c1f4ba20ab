"""Plans that MySQL and MariaDB choose for statements: their shape, and when it changes."""
