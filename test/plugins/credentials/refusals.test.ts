/** Refused credentials and their codes; a credential is only ever a value of a statement. */
import t from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { revoke, suspendAccount } from '../../../plugins/credentials/statements.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { openAccounts } from '../../helpers/store/accounts.ts'
import { sql } from '../../helpers/store/store.ts'

const { database, store, ...accounts } = await openAccounts(t)
const ann = await accounts.account('ann')
const call = accounts.route('key')
const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })
const COUNT = sql(
  'count',
  'SELECT (SELECT count(*) FROM accounts) AS a, (SELECT count(*) FROM api_keys) AS k',
)

t.test('auth: refuses unknown and mistyped keys', async t => {
  const real = await accounts.key(ann)
  const wrong = [
    makeSecret('key').text,
    'sk-',
    'sk-x',
    'x',
    `${real.text}x`,
    real.text.slice(0, -1),
    real.text.replace(/.$/, last => (last === 'a' ? 'b' : 'a')),
    real.text.toLowerCase(),
    real.digest,
    real.text.replace('sk-', 'pk-'),
    '__proto__',
    'constructor',
    'x'.repeat(10_000),
  ]
  for (const text of wrong) {
    await t.rejects(call(bearer(text)), { code: 'AUTH_UNKNOWN', status: 401 }, text.slice(0, 60))
  }
})

t.test('auth: refuses SQL in place of a key', async t => {
  const before = await database.read(COUNT, [])
  const evil = [
    `'OR'1'='1`,
    `sk-'||(SELECT/**/digest/**/FROM/**/api_keys)||'`,
    `';DROP/**/TABLE/**/api_keys;--`,
    `sk-%`,
    `sk-'/**/UNION/**/SELECT/**/1,2,3,4,5,6,7,8,9,10,11--`,
    `"`,
    '\u0000',
    '\ud800',
  ]
  for (const text of evil) {
    await t.rejects(call(bearer(text)), { code: 'AUTH_UNKNOWN' }, text)
    await t.rejects(
      accounts.route('query-key')({ query: new URLSearchParams({ key: text }).toString() }),
      {
        code: 'AUTH_UNKNOWN',
      },
    )
  }
  t.same(await database.read(COUNT, []), before)
})

t.test('auth: refuses revoked and expired keys and suspended accounts', async t => {
  const later = await accounts.key(ann, { expires: Date.now() + 3_600_000 })
  t.match(await call(bearer(later.text)), { id: ann })
  const expiredKey = await accounts.key(ann, { expires: Date.now() - 1 })
  await t.rejects(call(bearer(expiredKey.text)), { code: 'AUTH_EXPIRED', status: 401 })

  const revokedKey = await accounts.key(ann)
  await database.write(revoke('key', revokedKey.id, Date.now()))
  await t.rejects(call(bearer(revokedKey.text)), { code: 'AUTH_REVOKED', status: 401 })
  await t.rejects(database.write(revoke('key', revokedKey.id, Date.now())), { code: 'KEY_UNKNOWN' })
  await t.rejects(database.write(revoke('key', 12_345, Date.now())), { code: 'KEY_UNKNOWN' })

  const bob = await accounts.account('bob')
  const key = await accounts.key(bob)
  const token = await accounts.token(bob)
  await database.write(suspendAccount(bob, Date.now()))
  await t.rejects(call(bearer(key.text)), { code: 'AUTH_SUSPENDED', status: 403 })
  await t.rejects(accounts.route('system-token')(bearer(token.text)), { code: 'AUTH_SUSPENDED' })
  await t.rejects(database.write(suspendAccount(99, 1)), { code: 'ACCOUNT_UNKNOWN' })
})

t.test('auth: refuses a cached key after its expiry', async t => {
  const expires = Date.now() + scaled(300)
  const key = await accounts.key(ann, { expires })
  t.match(await call(bearer(key.text)), { id: ann })
  await new Promise(resolve => setTimeout(resolve, expires - Date.now() + 10))
  await t.rejects(call(bearer(key.text)), { code: 'AUTH_EXPIRED' })
})

t.test('auth: no refusal repeats the secret', async t => {
  const secret = makeSecret('key').text
  const error = await call(bearer(secret)).catch(error => error)
  t.notMatch(JSON.stringify({ ...error, message: error.message, stack: error.stack }), secret)
})
