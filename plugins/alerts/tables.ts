/** The tables of alerts. Times in ms since 1970. */
import type { Migration } from '../../engine/plugin.ts'

/** Of an alert: since `clear_since` its rule is kept, while it still fires. Of a message: `last`
 *  is the number of its last attempt, `detail` the receiver's own words. */
const TABLES = `
  CREATE TABLE alerts (
    rule TEXT NOT NULL,
    object TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'firing', 'resolved')),
    since BIGINT NOT NULL,
    clear_since BIGINT,
    text TEXT NOT NULL,
    PRIMARY KEY (rule, object));
  CREATE TABLE alert_messages (
    id TEXT PRIMARY KEY,
    receiver TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('firing', 'resolved', 'test')),
    rule TEXT NOT NULL,
    object TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts BIGINT NOT NULL DEFAULT 0,
    last BIGINT NOT NULL,
    due BIGINT NOT NULL,
    created BIGINT NOT NULL,
    outcome TEXT,
    status BIGINT,
    detail TEXT);
  CREATE INDEX alert_messages_due ON alert_messages (receiver, due) WHERE state = 'pending';
  CREATE INDEX alert_messages_created ON alert_messages (created)`

export const migrations: readonly Migration[] = [{ number: 1, text: TABLES }]
