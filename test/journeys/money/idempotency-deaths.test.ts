/** Idempotency-Key when a process dies or loses the store: its claims fall, not before it has let go, and not later. */
import t from 'tap'
import { createMembership } from '../../../engine/store/membership.ts'
import { Claims } from '../../../plugins/idempotency/claims.ts'
import { freeKey } from '../../../plugins/idempotency/statements.ts'
import { silent } from '../../helpers/core.ts'
import { install, installOn, post } from '../../helpers/idempotent.ts'
import { membershipOn } from '../../helpers/membership.ts'
import { eventually } from '../../helpers/primary.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store.ts'

/** ms. A process that stands still for three of them has lost its claims, and this one may stand still. */
const BEAT = 250
/** The same for those that must not stand still: a busy machine may hold them up for a second. */
const STEADY = 800
const NAME = { account: 1, route: 'r', key: 'k' }
const someone = (id: string) => {
  const seen = { cut: 0 }
  return { id, seen, cut: () => void seen.cut++ }
}

for (const engine of ENGINES)
  t.test(
    `${engine}: a process that fell silent has let go before another may run its call`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      const first = await here.worker({ beat: BEAT })
      const second = await here.worker({ beat: BEAT })
      const plain = here.script
      let open = 0
      here.script = (request, response, call) => {
        open++
        request.socket.on('close', () => open--)
        if (call > 1) {
          t.equal(open, 1, 'the first is not under way any more')
          plain(request, response, call)
        }
      }
      const lost = post(`${first.url}/a`, 'k')
      await eventually(() => here.calls === 1 || undefined)
      t.equal((await post(`${second.url}/a`, 'k')).status, 409)
      first.silence()
      const again = await eventually(async () => {
        const reply = await post(`${second.url}/a`, 'k')
        return reply.status === 409 ? undefined : reply
      })
      t.equal(again.text, '{"call":2}')
      const { status, text } = await lost
      t.equal(status, 503)
      t.match(text, /Idempotency-Key could not be kept in time/)
      t.equal((await post(`${second.url}/a`, 'k')).headers.get('idempotent-replayed'), 'true')
    },
  )

t.test('a process that lives is not buried, however long its call takes', async t => {
  const here = await install(t)
  const first = await here.worker({ beat: STEADY })
  const second = await here.worker({ beat: STEADY })
  const go = Promise.withResolvers<void>()
  const plain = here.script
  here.script = (...call) => void go.promise.then(() => plain(...call))
  const slow = post(`${first.url}/a`, 'k')
  await eventually(() => here.calls === 1 || undefined)
  const beats = async () =>
    Number(
      (await here.database.read(sql('b', 'SELECT min(beat) AS n FROM tollgate_processes'), []))[0]
        ?.n,
    )
  t.equal((await post(`${second.url}/a`, 'k')).status, 409)
  const from = await beats()
  await eventually(async () => (await beats()) > from + 6 || undefined)
  t.equal((await post(`${second.url}/a`, 'k')).status, 409)
  go.resolve()
  t.equal((await slow).text, '{"call":1}')
  t.equal((await post(`${second.url}/a`, 'k')).text, '{"call":1}')
})

for (const engine of ENGINES)
  t.test(
    `${engine}: a process taken for dead that comes back claims nothing under its old name`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      await here.worker()
      const claims = new Claims(here.database, silent, membershipOn(here.database))
      t.teardown(() => claims.close())
      const one = someone('one')
      t.equal(await claims.claim(NAME, 'b', one, 1), undefined)
      await here.database.write([
        { sql: sql('bury', 'DELETE FROM tollgate_processes'), values: [] },
      ])
      t.same(await here.rows(), [], 'its claims fell with it')
      const two = someone('two')
      await t.rejects(claims.claim(NAME, 'b', two, 1), { code: 'IDEMPOTENCY_LOST' })
      t.equal(one.seen.cut, 1, 'and what it ran is cut')
      t.equal(await claims.claim(NAME, 'b', two, 1), undefined, 'under another name')
    },
  )

t.test('a process that leaves leaves nothing behind', async t => {
  const here = await install(t)
  await here.worker()
  const membership = createMembership({ database: here.database, log: silent })
  const claims = new Claims(here.database, silent, membership)
  await claims.claim(NAME, 'b', someone('one'), 1)
  await claims.close()
  await membership.close()
  t.same(await here.rows(), [])
  t.same(await here.database.read(sql('p', 'SELECT id FROM tollgate_processes'), []), [])
})

t.test('a key that could not be freed is freed when the store is back', async t => {
  const here = await install(t)
  await here.worker()
  const claims = new Claims(here.database, silent, membershipOn(here.database))
  t.teardown(() => claims.close())
  await claims.claim(NAME, 'b', someone('one'), 1)
  await here.store.kill()
  claims.release('one', freeKey('one'))
  await here.store.respawn()
  await eventually(async () => (await here.rows()).length === 0 || undefined)
})

t.test('without a store nothing runs', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  await here.store.kill()
  const reply = await post(`${url}/a`, 'k')
  t.equal(reply.status, 503)
  t.equal(reply.headers.get('retry-after'), '1')
  t.equal(here.calls, 0)
  t.equal((await post(`${url}/a`, '')).status, 200, 'without a key it does')
  await here.store.respawn()
})

t.test('the cleaning takes what is old, and nothing else', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  const store = { ...here.database, now: async () => Date.now() + here.ahead }
  const claims = new Claims(store, silent, membershipOn(store))
  t.teardown(() => claims.close())
  for (let at = 0; at < 1_203; at += 200)
    await Promise.all(
      Array.from({ length: 200 }, (_, more) =>
        claims.claim({ ...NAME, key: `${at + more}` }, 'b', someone(`r${at + more}`), 1),
      ),
    )
  await here.database.write([
    {
      sql: sql(
        'old',
        "UPDATE idempotency_keys SET process = NULL, status = 200, claimed = 0 WHERE key <> '7'",
      ),
      values: [],
    },
  ])
  await post(`${url}/a`, 'young')
  await claims.clean(new AbortController().signal)
  t.same(
    (await here.rows()).map(({ key }) => key),
    ['7', 'young'],
    'a claim that is open stays, however old',
  )
})

t.test(
  'the store is away when a reply ends: it is kept when the store is back, and not run again',
  async t => {
    const here = await install(t)
    const { url } = await here.worker()
    const plain = here.script
    here.script = (...call) => void here.store.kill().then(() => plain(...call))
    const reply = await post(`${url}/a`, 'k')
    t.equal(reply.status, 503)
    await here.store.respawn()
    const again = await eventually(async () => {
      const found = await post(`${url}/a`, 'k')
      return found.status === 200 ? found : undefined
    })
    t.equal(again.text, '{"call":1}')
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.equal(here.calls, 1)
  },
)
