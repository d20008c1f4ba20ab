(SELECT groupArray(colour) FROM (SELECT colour FROM families ORDER BY position))
