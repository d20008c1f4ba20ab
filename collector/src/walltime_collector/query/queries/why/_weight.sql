    -- how many transactions one counts for where the usual side gets the mix of the slow one (Mix in why/answer.py); 1 without a mix
    if(empty({mix_values:Array(String)}), 1., if(is_slow, {mix_slow_weights:Array(Float64)}, {mix_usual_weights:Array(Float64)})[1 + indexOf({mix_values:Array(String)},
-- include why/dimensions/_field.sql
    )]) AS weight
