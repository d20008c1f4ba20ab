# Makes the account of the collector, when the database is made: it reads what the server says of itself, and no table.
docker_process_sql <<SQL
CREATE USER 'walltime'@'%' IDENTIFIED BY '$WALLTIME_PASSWORD';
GRANT PROCESS, REPLICATION CLIENT ON *.* TO 'walltime'@'%';
GRANT SELECT ON performance_schema.* TO 'walltime'@'%';
SQL
