        [
            toNullable(transactions / seconds),
            if(transactions = 0, NULL, errors / transactions),
            if(transactions = 0, NULL, duration_ns / transactions),
            if(transactions = 0, NULL, percentiles_ns[1]),
            if(transactions = 0, NULL, percentiles_ns[2]),
            if(transactions = 0, NULL, percentiles_ns[3]),
            if(transactions = 0, NULL, toFloat64(max_ns))
        ]
