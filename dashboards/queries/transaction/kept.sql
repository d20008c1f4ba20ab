-- Whether its calls were kept
-- And why; without them there are the sums of the bill.
-- include shown
SELECT
    multiIf(
        parts = 0, '',
        made = 0, 'It made no calls.',
        kept = 'foreign', 'It is computed from the spans of another SDK: below are those that were recorded.',
        kept_calls > 0 AND notEmpty(kept), concat('Every call was kept, ', transform(kept,
            ['random', 'slow', 'error', 'forced', 'upstream'],
            ['as one of the fair sample', 'because it was slow for its kind', 'because it failed', 'because code or a header asked for it', 'as its caller''s were'],
            kept), if(dropped > 0, concat('; ', toString(dropped), ' more were too many'), ''), '.'),
        kept_calls > 0, 'Only the calls of some of its transactions were kept one by one.',
        notEmpty(kept), 'Its calls were kept, but are not stored: they have not arrived yet, or their retention is over.',
        concat('Its calls were not kept one by one: ',
            if(sampled > 0, concat('the fair sample keeps ', toString(round(100 * sampled, 1)), ' % of all, and this one'), 'it'),
            ' was neither slow nor failed nor asked for. The bars below are sums of the bill.')) AS "sentence"
FROM
(
    SELECT
        argMin(kept, started_at) AS kept,
        argMin(sample_probability, started_at) AS sampled,
        sum(calls_dropped) AS dropped,
        count() AS parts,
        (SELECT sum(calls) FROM components_each WHERE trace_id = shown) AS made,
        (SELECT count() FROM spans WHERE trace_id = shown AND span_id NOT IN (SELECT span_id FROM transactions WHERE trace_id = shown)) AS kept_calls
    FROM transactions
    WHERE trace_id = shown
)
