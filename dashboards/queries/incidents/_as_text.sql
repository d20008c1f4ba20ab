            multiIf(
                change.1 = '', '',
                change.1 = 'calls', toString(round({of}, 2)),
                change.1 != 'time', concat(toString(round(100 * {of}, 1)), ' %'),
                {of} < 1e6, concat(toString(round({of} / 1e3, 1)), ' µs'),
                {of} < 1e9, concat(toString(round({of} / 1e6, 1)), ' ms'),
                concat(toString(round({of} / 1e9, 2)), ' s'))
