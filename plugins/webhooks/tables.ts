/** The tables of webhooks: endpoints, events and attempts. Times in ms since 1970. */

/** Of an endpoint: `paused`: no event is sent before this time; `failures`: failed attempts in a
 *  row. Of an event: `last`: the number of its last attempt. */
export const TABLES = `
  CREATE TABLE webhook_endpoints (
    id BIGINT PRIMARY KEY,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    disabled BIGINT,
    paused BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0);
  CREATE TABLE webhook_events (
    id TEXT PRIMARY KEY,
    endpoint BIGINT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts BIGINT NOT NULL DEFAULT 0,
    last BIGINT NOT NULL,
    due BIGINT NOT NULL,
    created BIGINT NOT NULL);
  CREATE INDEX webhook_events_due ON webhook_events (due, endpoint) WHERE state = 'pending';
  CREATE INDEX webhook_events_turn ON webhook_events (endpoint, due, id) WHERE state = 'pending';
  CREATE INDEX webhook_events_created ON webhook_events (created);
  CREATE INDEX webhook_events_endpoint ON webhook_events (endpoint, id);
  CREATE TABLE webhook_attempts (
    event TEXT NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    ms BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    status BIGINT,
    PRIMARY KEY (event, number))`

/** 1 where the last response was successful but slow. */
export const SLOW = 'ALTER TABLE webhook_endpoints ADD COLUMN slow BIGINT NOT NULL DEFAULT 0'

/** Mails to accounts. Of an address: `code` confirms it, until `confirmed`; `tries`: codes that
 *  were entered. Of a mail: `balance` and `threshold` in nanos, of the kind `low`. */
export const ACCOUNT_MAILS = `
  CREATE TABLE mail_addresses (
    account BIGINT PRIMARY KEY,
    address TEXT NOT NULL,
    code TEXT,
    asked BIGINT NOT NULL,
    tries BIGINT NOT NULL DEFAULT 0,
    confirmed BIGINT);
  CREATE TABLE account_mails (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    address TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('code', 'low')),
    balance BIGINT,
    threshold BIGINT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts BIGINT NOT NULL DEFAULT 0,
    last BIGINT NOT NULL,
    due BIGINT NOT NULL,
    created BIGINT NOT NULL,
    outcome TEXT,
    status BIGINT);
  CREATE INDEX account_mails_due ON account_mails (account, due) WHERE state = 'pending';
  CREATE INDEX account_mails_account ON account_mails (account, id);
  CREATE INDEX account_mails_address ON account_mails (address, created);
  CREATE INDEX account_mails_created ON account_mails (created)`
