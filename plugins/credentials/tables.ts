/** The tables of accounts, their members, keys, system tokens, sessions and sign-in links. Every
 *  change of a credential takes the next number of `credential_changes`. Each process drops the
 *  cache entries with new numbers. */
import type { Migration } from '../../engine/plugin.ts'

const SECRET = `
    id BIGINT PRIMARY KEY,
    account BIGINT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    last_four TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    revoked BIGINT,
    change BIGINT NOT NULL`

export const migrations: readonly Migration[] = [
  {
    number: 1,
    text: `
  CREATE TABLE accounts (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('customer', 'admin')),
    created BIGINT NOT NULL,
    suspended BIGINT);
  CREATE TABLE api_keys (${SECRET},
    models TEXT,
    limits TEXT,
    quota BIGINT);
  CREATE INDEX api_keys_account ON api_keys (account);
  CREATE INDEX api_keys_change ON api_keys (change);
  CREATE TABLE system_tokens (${SECRET});
  CREATE INDEX system_tokens_account ON system_tokens (account);
  CREATE INDEX system_tokens_change ON system_tokens (change);
  CREATE TABLE credential_changes (id BIGINT PRIMARY KEY, number BIGINT NOT NULL);
  INSERT INTO credential_changes (id, number) VALUES (1, 0)`,
  },
  {
    // `revoked` of a link: when it was used. `token`: the system token that began the session.
    number: 2,
    text: `
  CREATE TABLE sessions (${SECRET},
    token BIGINT);
  CREATE INDEX sessions_account ON sessions (account);
  CREATE INDEX sessions_change ON sessions (change);
  CREATE INDEX sessions_token ON sessions (token);
  CREATE TABLE sign_in_links (${SECRET});
  CREATE INDEX sign_in_links_account ON sign_in_links (account)`,
  },
  {
    // A quota that is renewed: `quota` is what the key may spend in all until the next renewal,
    // `period_quota` what it may spend in each period, `period_start` when the last one began, ms.
    number: 3,
    text: `
  ALTER TABLE api_keys ADD COLUMN quota_period TEXT;
  ALTER TABLE api_keys ADD COLUMN period_quota BIGINT;
  ALTER TABLE api_keys ADD COLUMN period_start BIGINT;
  CREATE INDEX api_keys_period ON api_keys (quota_period, period_start) WHERE quota_period IS NOT NULL`,
  },
  { number: 4, text: 'ALTER TABLE accounts ADD COLUMN limits TEXT' },
  {
    // Secrets that a key or a system token had before a rotation. `until`: ms since 1970.
    number: 5,
    text: `
  CREATE TABLE earlier_secrets (
    digest TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('key', 'system-token')),
    credential BIGINT NOT NULL,
    until BIGINT NOT NULL,
    change BIGINT NOT NULL);
  CREATE INDEX earlier_secrets_credential ON earlier_secrets (kind, credential);
  CREATE INDEX earlier_secrets_change ON earlier_secrets (change)`,
  },
  {
    // 1: the secret was made elsewhere, so its text has another shape.
    number: 6,
    text: `
  ALTER TABLE api_keys ADD COLUMN imported BIGINT;
  CREATE INDEX api_keys_imported ON api_keys (imported) WHERE imported IS NOT NULL`,
  },
  {
    // Members of a team. A credential without a member is of the account itself. The name of one
    // who was removed is free.
    number: 7,
    text: `
  CREATE TABLE members (
    id BIGINT PRIMARY KEY,
    account BIGINT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created BIGINT NOT NULL,
    removed BIGINT,
    UNIQUE (account, name));
  ALTER TABLE api_keys ADD COLUMN member BIGINT;
  ALTER TABLE system_tokens ADD COLUMN member BIGINT;
  ALTER TABLE sessions ADD COLUMN member BIGINT;
  ALTER TABLE sign_in_links ADD COLUMN member BIGINT;
  CREATE INDEX api_keys_member ON api_keys (member) WHERE member IS NOT NULL;
  CREATE INDEX system_tokens_member ON system_tokens (member) WHERE member IS NOT NULL;
  CREATE INDEX sessions_member ON sessions (member) WHERE member IS NOT NULL;
  CREATE INDEX sign_in_links_member ON sign_in_links (member) WHERE member IS NOT NULL`,
  },
  // Null: a token that may do everything.
  { number: 8, text: 'ALTER TABLE system_tokens ADD COLUMN scope TEXT' },
  {
    // Sessions that an identity provider began. `identity`: the key of the identity, with which
    // they end. `provider_user`, `provider_session`: digests of its `sub` and `sid`. `member_role`:
    // by its claims. `logout_tokens`: those that were accepted; `expires`: ms since 1970.
    number: 9,
    text: `
  ALTER TABLE sessions ADD COLUMN identity BIGINT;
  ALTER TABLE sessions ADD COLUMN provider_user TEXT;
  ALTER TABLE sessions ADD COLUMN provider_session TEXT;
  ALTER TABLE sessions ADD COLUMN member_role TEXT;
  CREATE INDEX sessions_identity ON sessions (identity) WHERE identity IS NOT NULL;
  CREATE INDEX sessions_provider_user ON sessions (provider_user) WHERE provider_user IS NOT NULL;
  CREATE INDEX sessions_provider_session ON sessions (provider_session)
    WHERE provider_session IS NOT NULL;
  CREATE TABLE logout_tokens (digest TEXT PRIMARY KEY, expires BIGINT NOT NULL)`,
  },
  // Such as `project=alpha, feature=search`: of the calls of the member.
  { number: 10, text: 'ALTER TABLE members ADD COLUMN tags TEXT' },
]
