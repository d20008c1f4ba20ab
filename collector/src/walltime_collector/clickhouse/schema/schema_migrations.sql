-- Which schema files have been applied.
CREATE TABLE IF NOT EXISTS schema_migrations{local}{on_cluster} (name String, applied_at DateTime DEFAULT now())
ENGINE = {replicated}MergeTree{keeper_path}
ORDER BY name;

{cluster_only} CREATE TABLE IF NOT EXISTS schema_migrations{on_cluster} AS schema_migrations_local
ENGINE = Distributed({cluster}, {database}, 'schema_migrations_local', 0)
