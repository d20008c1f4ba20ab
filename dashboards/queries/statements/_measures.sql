        [
            toNullable(ns / 1e9 / seconds),
            calls / seconds,
            ns / nullIf(calls, 0),
            calls / nullIf(senders, 0),
            errors / nullIf(calls, 0)
        ]
