/** Secrets that another gateway made: found by their text, on both stores. */
import t from 'tap'
import {
  importedSecret,
  isImportable,
  makeSecret,
  maskSecret,
} from '../../../plugins/credentials/secret.ts'
import { addKey, FIND, replaceSecret, revoke } from '../../../plugins/credentials/statements.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const OTHER = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl'

for (const engine of ENGINES)
  t.test(`imported secrets on ${engine}: are keys like others, until they are revoked`, async t => {
    const accounts = await openAccountsIn(await (await startAnyStore(t, engine)).open())
    const { database } = accounts
    const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')]
    const add = async (account: number, text: string): Promise<number> => {
      const key = { account, name: 'old', secret: importedSecret(text), isImported: true }
      return Number((await database.write(addKey(key, Date.now()))).at(-1)?.[0]?.id)
    }
    /** The account, or the code of the refusal. By a process that starts now. */
    const call = async (authorization: string, modes = ['key', 'system-token']) =>
      (await openAccountsIn(database))
        .route(modes as never)({ headers: { authorization } })
        .then(
          account => account?.id,
          ({ code }) => code,
        )
    t.equal(await call(`Bearer sk-${OTHER}`), 'AUTH_UNKNOWN')

    const id = await add(ann, `sk-${OTHER}`)
    t.equal(await call(`Bearer sk-${OTHER}`), ann)
    t.equal(await call(`Bearer ${OTHER}`), ann, 'without the prefix')
    t.equal(await call(`Bearer sk-${OTHER}`, ['key']), ann)
    t.equal(await call(`Bearer sk-${OTHER}x`), 'AUTH_UNKNOWN')
    t.equal(await call(`Bearer ${OTHER}`, ['system-token']), 'AUTH_UNKNOWN', 'is not another kind')
    t.equal(await call(`Bearer ${(await accounts.key(bob)).text}`), bob, 'own keys beside them')
    await t.rejects(add(bob, OTHER), { code: 'SECRET_EXISTS' }, 'a secret has one owner')

    await add(bob, 'x')
    t.equal(await call('Bearer x'), bob, 'any length')
    await database.write(revoke('key', id, Date.now()))
    t.equal(await call(`Bearer sk-${OTHER}`), 'AUTH_REVOKED')
  })

for (const engine of ENGINES)
  t.test(`imported secrets on ${engine}: no key gets one that another key had`, async t => {
    const { database, ...accounts } = await openAccountsIn(
      await (await startAnyStore(t, engine)).open(),
    )
    const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')]
    const [id, earlier, now] = [1, await accounts.key(ann), Date.now()]
    const { digest } = earlier
    for (const until of [now + 60_000, undefined]) {
      const latest = makeSecret('key')
      await database.write(replaceSecret('key', id, { digest, until }, latest, now))
      const stolen = { account: bob, name: 'old', secret: importedSecret(earlier.text) }
      await t.rejects(database.write(addKey({ ...stolen, isImported: true }, now)), {
        code: 'SECRET_EXISTS',
      })
      const rows = await database.read(FIND.key, [digest])
      t.match(rows, [{ id, account: ann }])
      t.equal(rows.length, 1, 'one secret is one key')
      await database.write([
        {
          sql: sql('undo', 'UPDATE api_keys SET digest = ? WHERE id = 1'),
          values: [digest],
        },
      ])
      await database.write([{ sql: sql('forget', 'DELETE FROM earlier_secrets'), values: [] }])
    }
  })

for (const engine of ENGINES)
  t.test(`imported secrets on ${engine}: no old file brings an ended one back`, async t => {
    const accounts = await openAccountsIn(await (await startAnyStore(t, engine)).open())
    const { database } = accounts
    const account = await accounts.account('ann')
    const add = (text: string, name: string) =>
      database.write(
        addKey({ account, name, secret: importedSecret(text), isImported: true }, Date.now()),
      )
    await add('first', 'old')
    // Rotations over a year: each earlier secret has long ended.
    let { digest } = importedSecret('first')
    for (let month = 12; month >= 0; month--) {
      const [now, next] = [Date.now() - month * 31 * 86_400_000, makeSecret('key')]
      await database.write(replaceSecret('key', 1, { digest, until: undefined }, next, now))
      digest = next.digest
    }
    await t.rejects(add('first', 'new'), { code: 'SECRET_EXISTS' })
    const headers = { authorization: 'Bearer first' }
    await t.rejects(accounts.route('key')({ headers }), { code: /AUTH_(EXPIRED|REVOKED)/ })
  })

t.test(
  'imported secrets: a running process finds one after its next check for changes',
  async t => {
    const accounts = await openAccountsIn(await (await startAnyStore(t, 'sqlite')).open())
    const ann = await accounts.account('ann')
    const route = accounts.route('key')
    const call = () =>
      route({ headers: { authorization: 'Bearer mine' } }).catch(({ code }) => code)
    t.equal(await call(), 'AUTH_UNKNOWN')
    const key = { account: ann, name: 'old', secret: importedSecret('mine'), isImported: true }
    await accounts.database.write(addKey(key, Date.now()))
    for (;;) {
      const answer = await call()
      if (answer !== 'AUTH_UNKNOWN') {
        t.match(answer, { id: ann })
        break
      }
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  },
)

t.test('imported secrets: texts that no client can send, and those of other kinds', async t => {
  for (const text of ['a', 'sk-a', '{"k":1}', 'x'.repeat(512)]) t.ok(isImportable(text), text)
  for (const text of ['', 'sk-', 'two words', 'é', 'a\n', 'st-a', 'ss-a', 'sl-a', 'x'.repeat(513)])
    t.notOk(isImportable(text), text)
})

t.test('imported secrets: a list shows at most half of one', async t => {
  const mask = (text: string) => {
    const { prefix, lastFour } = importedSecret(text)
    return maskSecret(prefix, lastFour)
  }
  t.same(['abc', 'abcd', 'abcdefgh', `sk-${OTHER}`].map(mask), ['…', 'a…d', 'ab…gh', 'sk-A…IjKl'])
})
