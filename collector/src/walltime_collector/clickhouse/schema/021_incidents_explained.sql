-- When the sentences of an incident and the numbers of its changes were computed: an open one goes on after that.
ALTER TABLE incidents{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS explained_at DateTime('UTC');

{cluster_only} ALTER TABLE incidents{on_cluster}
    ADD COLUMN IF NOT EXISTS explained_at DateTime('UTC');

ALTER TABLE incidents{on_cluster}
    COMMENT COLUMN IF EXISTS explained_at 'when the sentences and the numbers of the changes were computed; 1970: not yet'
