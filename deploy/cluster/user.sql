-- Creates the user of Wellhead on a cluster named main. Change the password, then run it as an administrator:
--   clickhouse-client --queries-file user.sql
-- On a single server, remove ON CLUSTER main from each statement, and the statements below the empty line.
CREATE USER IF NOT EXISTS wellhead ON CLUSTER main IDENTIFIED WITH sha256_password BY 'change this password' SETTINGS log_queries = 0;
GRANT ON CLUSTER main SELECT, INSERT, CREATE DATABASE, CREATE TABLE, DROP TABLE, ALTER ADD COLUMN, ALTER DROP COLUMN, ALTER MATERIALIZE COLUMN, ALTER ADD INDEX, ALTER DROP INDEX, ALTER MATERIALIZE INDEX, ALTER TTL, ALTER SETTINGS, ALTER DELETE ON wellhead.* TO wellhead;
GRANT ON CLUSTER main SELECT ON system.clusters TO wellhead;
GRANT ON CLUSTER main SELECT ON system.disks TO wellhead;
GRANT ON CLUSTER main SELECT ON system.mutations TO wellhead;
GRANT ON CLUSTER main SELECT ON system.parts TO wellhead;
GRANT ON CLUSTER main TABLE ENGINE ON MergeTree TO wellhead;
GRANT ON CLUSTER main TABLE ENGINE ON ReplacingMergeTree TO wellhead;

GRANT ON CLUSTER main SELECT ON system.macros TO wellhead;
GRANT ON CLUSTER main SELECT ON system.replicas TO wellhead;
GRANT ON CLUSTER main SELECT ON system.zookeeper_connection TO wellhead;
GRANT ON CLUSTER main TABLE ENGINE ON ReplicatedMergeTree TO wellhead;
GRANT ON CLUSTER main TABLE ENGINE ON ReplicatedReplacingMergeTree TO wellhead;
GRANT ON CLUSTER main TABLE ENGINE ON Distributed TO wellhead;
GRANT ON CLUSTER main CLUSTER ON *.* TO wellhead;
GRANT ON CLUSTER main REMOTE ON *.* TO wellhead;
