/** The table of objects that upstreams keep for accounts. Times in ms since 1970. */
import type { Migration } from '../../engine/plugin.ts'

/** `name`: as the provider has it, such as files/abc; of an upload that has begun, its id at the
 *  gateway. `pin`: the address and the key that it was made with, JSON. `details`: the object as it
 *  was last seen, JSON; of an upload, its address at the upstream. `model`, `entry`: of the request
 *  that made it, if it had a model. */
const TABLE = `
  CREATE TABLE provider_resources (
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    upstream TEXT NOT NULL,
    pin TEXT,
    model TEXT,
    entry TEXT,
    details TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (account, name));
  CREATE INDEX provider_resources_name ON provider_resources (name);
  CREATE INDEX provider_resources_page ON provider_resources (account, kind, created, name);
  CREATE INDEX provider_resources_expires ON provider_resources (expires)`

/** Who made it: a key, or the member of a session; null: the account, or an earlier release. */
const MAKERS = `
  ALTER TABLE provider_resources ADD COLUMN key BIGINT;
  ALTER TABLE provider_resources ADD COLUMN member BIGINT`

export const migrations: readonly Migration[] = [
  { number: 1, text: TABLE },
  { number: 2, text: MAKERS },
]
