/** The tables of the log of actions. Times in ms since 1970. */
import type { Migration } from '../../engine/plugin.ts'

/** `action_head` has one row: the last action, and the last one that was deleted by age. `proof`:
 *  signs the latter. `action_versions`: the last configuration of each data folder in the log. */
const TABLES = `
  CREATE TABLE actions (
    seq BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    operation TEXT NOT NULL,
    actor TEXT NOT NULL,
    object TEXT NOT NULL,
    entry TEXT NOT NULL,
    key TEXT NOT NULL,
    prev TEXT NOT NULL,
    mac TEXT NOT NULL);
  CREATE INDEX actions_at ON actions (at);
  CREATE TABLE action_head (
    id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    mac TEXT NOT NULL,
    deleted_seq BIGINT NOT NULL,
    deleted_mac TEXT NOT NULL,
    deleted_key TEXT NOT NULL,
    proof TEXT NOT NULL);
  INSERT INTO action_head (id, seq, mac, deleted_seq, deleted_mac, deleted_key, proof)
    VALUES (1, 0, '', 0, '', '', '');
  CREATE TABLE action_versions (
    folder TEXT PRIMARY KEY,
    version BIGINT NOT NULL)`

export const migrations: readonly Migration[] = [{ number: 1, text: TABLES }]
