/** SQL in place of a key, on both engines: it is an unknown key, the store receives only a digest,
 *  and no table changes. */
import t, { type Test } from 'tap'
import type { Database, Exchange, Host, Sql, Value } from '../../../engine/plugin.ts'
import { KEY_BY_DIGEST } from '../../../plugins/account/statements.ts'
import { balance, tokenUsage } from '../../../plugins/account/status.ts'
import { digestOf, makeSecret } from '../../../plugins/credentials/secret.ts'
import { type Caller, exchangeOf, hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { ENGINES, type Engine, startAnyStore } from '../../helpers/store/store.ts'

/** Texts that would change a statement that contains them literally. */
const INJECTIONS = [
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
/** For headers, which cannot contain these spaces. */
const withoutSpaces = (text: string): string => text.replaceAll(' ', '/**/')
const TABLES = ['accounts', 'api_keys', 'system_tokens', 'credential_changes', 'wallets', 'credits']

/** A host over the same store, and the reads of that host. */
const recordReads = (database: Database) => {
  const reads: [Sql, readonly Value[]][] = []
  const read: Database['read'] = (sql, values) => {
    reads.push([sql, values])
    return database.read(sql, values)
  }
  return { reads, host: hostOver({ ...database, read }) }
}
/** The status of a view's response, or the code of its refusal. */
const statusOrCode = async (view: (exchange: Exchange) => Promise<void>, caller: Caller) => {
  let result: unknown
  const answer = (status: number): void => {
    result = status
  }
  await view(Object.assign(exchangeOf(caller), { answer })).catch(({ code }) => {
    result = code
  })
  return result
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
  const { reads, host } = recordReads(database)
  const ask = (secret: string, over: Host = host) =>
    statusOrCode(balance(over), { query: `key=${encodeURIComponent(secret)}` })
  const askWithBearer = (secret: string, over: Host = host) =>
    statusOrCode(tokenUsage(over), { headers: { authorization: `Bearer ${secret}` } })

  const unknown = makeSecret('key').text
  for (const each of [unknown, ...INJECTIONS]) {
    reads.length = 0
    t.equal(await ask(each), 'KEY_NOT_KNOWN', each)
    t.equal(reads.length, 1)
    t.match(reads, [[KEY_BY_DIGEST, [digestOf(each), Number]]])
  }
  const other = recordReads(database)
  for (const each of [unknown, ...INJECTIONS].map(withoutSpaces)) {
    other.reads.length = 0
    t.equal(await askWithBearer(each, other.host), 'BEARER_NOT_KNOWN', each)
    t.equal(other.reads.length, 1)
    t.match(other.reads, [[KEY_BY_DIGEST, [digestOf(each), Number]]])
  }
  for (const each of INJECTIONS)
    await t.rejects(accounts.route('key')({ headers: { 'x-api-key': each } }), {
      code: 'AUTH_UNKNOWN',
    })
  t.same(await all(), before)
  t.equal(await ask(text), 200, 'a valid key gets its balance')
  t.equal(await askWithBearer(text), 200)
}

for (const engine of ENGINES)
  t.test(`key lookup on ${engine}: treats SQL as an unknown key`, t => check(t, engine))
