/** Accounts that have consented that their calls are written. Times in ms since 1970. */
import type { Migration, Sql, Statement } from '../../engine/plugin.ts'

export const migrations: readonly Migration[] = [
  {
    number: 1,
    text: 'CREATE TABLE journal_consents (account BIGINT PRIMARY KEY, since BIGINT NOT NULL)',
  },
]
export const CONSENTS: Sql = {
  name: 'journal: consents',
  text: 'SELECT account, since FROM journal_consents ORDER BY account',
}
const GIVE: Sql = {
  name: 'journal: give consent',
  text: 'INSERT INTO journal_consents (account, since) VALUES (?, ?) ON CONFLICT DO NOTHING',
}
const WITHDRAW: Sql = {
  name: 'journal: withdraw consent',
  text: 'DELETE FROM journal_consents WHERE account = ?',
}
export const setConsent = (account: number, isGiven: boolean, now: number): Statement =>
  isGiven ? { sql: GIVE, values: [account, now] } : { sql: WITHDRAW, values: [account] }
