/** SQL in the place of a key: as unknown as any other that was never made, on both engines. The store is told a digest and nothing
 *  else, and is what it was. */
import t, { type Test } from 'tap'
import type { Database, Exchange, Host, Sql, Value } from '../../../engine/plugin.ts'
import { KEY_BY_DIGEST } from '../../../plugins/account/statements.ts'
import { balance, tokenUsage } from '../../../plugins/account/status.ts'
import { digestOf, makeSecret } from '../../../plugins/credentials/secret.ts'
import { type Caller, exchangeOf, hostOver, openAccountsIn } from '../../helpers/accounts.ts'
import { makeLedger } from '../../helpers/membership.ts'
import { ENGINES, type Engine, startAnyStore } from '../../helpers/store.ts'

/** What a store would answer to that takes them for a part of its question; in place of a space where a header has none. */
const SAID = [
  "' OR 1=1 --",
  "' OR '1'='1",
  "' UNION SELECT * FROM api_keys --",
  "'; DROP TABLE api_keys; --",
  "'; UPDATE accounts SET role = 'admin'; --",
  "'; INSERT INTO credits SELECT 9, 1, 'credit', 1000000, NULL, '', 0; --",
  "' OR (SELECT 1 FROM pg_sleep(5)) IS NULL --",
  "'||pg_sleep(5)||'",
  "sk-' AND 1 = (SELECT 1 FROM pg_sleep(5)) --",
  "\\' OR 1=1 --",
  '" OR 1=1 --',
  '?1',
  '$1',
]
const unspaced = (text: string): string => text.replaceAll(' ', '/**/')
const TABLES = ['accounts', 'api_keys', 'system_tokens', 'credential_changes', 'wallets', 'credits']

/** The same store, and all that was read of it. */
const overheard = (database: Database) => {
  const reads: [Sql, readonly Value[]][] = []
  const read: Database['read'] = (asked, values) => {
    reads.push([asked, values])
    return database.read(asked, values)
  }
  return { reads, host: hostOver({ ...database, read }) }
}
/** What a view answers, or the code it refuses with. */
const answered = async (view: (exchange: Exchange) => Promise<void>, caller: Caller) => {
  let said: unknown
  const answer = (status: number): void => {
    said = status
  }
  await view(Object.assign(exchangeOf(caller), { answer })).catch(({ code }) => {
    said = code
  })
  return said
}
const check = async (t: Test, engine: Engine): Promise<void> => {
  const database = await (await startAnyStore(t, engine)).open()
  const accounts = await openAccountsIn(database)
  await makeLedger(database)
  const ann = await accounts.account('ann')
  const { text } = await accounts.key(ann)
  await accounts.token(ann)
  const all = async () => {
    const rows = []
    for (const table of TABLES)
      rows.push(await database.read({ name: table, text: `SELECT * FROM ${table}` }, []))
    return rows
  }
  const before = await all()
  const { reads, host } = overheard(database)
  const ask = (secret: string, over: Host = host) =>
    answered(balance(over), { query: `key=${encodeURIComponent(secret)}` })
  const bear = (secret: string, over: Host = host) =>
    answered(tokenUsage(over), { headers: { authorization: `Bearer ${secret}` } })

  const unknown = makeSecret('key').text
  for (const each of [unknown, ...SAID]) {
    reads.length = 0
    t.equal(await ask(each), 'KEY_NOT_KNOWN', each)
    t.same(reads, [[KEY_BY_DIGEST, [digestOf(each)]]])
  }
  const other = overheard(database)
  for (const each of [unknown, ...SAID].map(unspaced)) {
    other.reads.length = 0
    t.equal(await bear(each, other.host), 'BEARER_NOT_KNOWN', each)
    t.same(other.reads, [[KEY_BY_DIGEST, [digestOf(each)]]])
  }
  for (const each of SAID)
    await t.rejects(accounts.route('key')({ headers: { 'x-api-key': each } }), {
      code: 'AUTH_UNKNOWN',
    })
  t.same(await all(), before)
  t.equal(await ask(text), 200, 'whoever holds a key is told')
  t.equal(await bear(text), 200)
}

for (const engine of ENGINES) t.test(engine, t => check(t, engine))
