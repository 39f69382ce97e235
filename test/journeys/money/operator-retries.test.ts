/** Idempotency-Key on what operators and customers create and change: each happens once, and no
 *  secret is stored, on both stores. */
import t, { type Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'

t.setTimeout(300_000)
type Fields = Readonly<Record<string, unknown>>

const open = async (t: Test, engine: 'sqlite' | 'postgres') => {
  const server = engine === 'postgres' ? await startPostgres() : undefined
  if (server) t.teardown(() => server.stop())
  const url = server ? await server.create() : 'sqlite:'
  const gateway = await startConsole(t, { env: { DATABASE_URL: url } })
  const database = await openDatabase({ url, data: gateway.data, writeTimeout: 10_000 })
  t.teardown(() => database.close())
  const rows = (text: string) => database.read({ name: `test: ${text}`, text }, [])
  const headers = { authorization: `Bearer ${gateway.token}` }
  const send = (path: string, body: unknown, key?: string) =>
    gateway.ask('POST', path, body, { ...headers, ...(key && { 'idempotency-key': key }) })
  await send('/api/admin/accounts', { name: 'ann' })
  const balance = async () => {
    const { body } = await gateway.ask(
      'GET',
      '/api/admin/accounts/show?account=ann',
      undefined,
      headers,
    )
    return (body.data as { readonly balance?: string }).balance
  }
  return { gateway, database, rows, send, balance, headers }
}
const isReplay = ({ headers }: { readonly headers: Headers }) =>
  headers.get('idempotent-replayed') === 'true'

for (const engine of ['sqlite', 'postgres'] as const)
  t.test(`operators' retries (${engine}): each change with a key happens once`, async t => {
    const { gateway, database, rows, send, balance, headers } = await open(t, engine)

    await t.test('money moves once, and a repetition gets the same answer', async t => {
      const credit = { account: 'ann', amount: '5' }
      const path = '/api/admin/accounts/credit'
      const first = await send(path, credit, 'credit-1')
      t.match(first, { status: 200, body: { data: { balance: '5' } } })
      const again = await send(path, credit, 'credit-1')
      t.match(again, { status: 200 })
      t.same(again.body, first.body)
      t.ok(isReplay(again))
      t.match(await send(path, { ...credit, amount: '6' }, 'credit-1'), { status: 422 })
      const many = await Promise.all(
        Array.from({ length: 60 }, () => send(path, credit, 'credit-2')),
      )
      t.ok(many.every(({ status }) => status === 200 || status === 409))
      t.equal(many.filter(each => each.status === 200 && !isReplay(each)).length, 1)
      t.equal(await balance(), '10')
      const debit = { account: 'ann', amount: '1' }
      for (const _ of [1, 2]) await send('/api/admin/accounts/debit', debit, 'debit-1')
      t.equal(await balance(), '9')
      t.match(await send(path, { account: 'bob', amount: '5' }, 'credit-3'), { status: 404 })
      await send('/api/admin/accounts', { name: 'bob' })
      t.match(await send(path, { account: 'bob', amount: '5' }, 'credit-3'), { status: 200 })
    })

    await t.test('what shows a secret happens once, and its answer is not stored', async t => {
      const count = async (table: string) =>
        Number((await rows(`SELECT count(*) AS count FROM ${table}`))[0]?.count)
      const creates: readonly (readonly [string, object, string])[] = [
        ['/api/admin/keys', { account: 'ann', name: 'k' }, 'api_keys'],
        ['/api/keys', { name: 'k' }, 'api_keys'],
        ['/api/token/', { name: 'k' }, 'api_keys'],
        ['/api/system-tokens', { name: 'k' }, 'system_tokens'],
        ['/api/members', { name: 'mia', role: 'member' }, 'members'],
        ['/api/admin/codes', { amount: '1' }, 'codes'],
        ['/api/admin/accounts/link', { account: 'ann' }, 'sign_in_links'],
        ['/api/admin/keys/rotate', { key: 1 }, 'earlier_secrets'],
      ]
      for (const [at, [path, body, table]] of creates.entries()) {
        const before = await count(table)
        t.match(await send(path, body, `create-${at}`), { status: /^20[01]$/ }, path)
        const again = await send(path, body, `create-${at}`)
        t.match(again, { status: 410, body: { message: /may show a secret/ } }, path)
        t.equal(await count(table), before + 1, path)
      }
      const stored = await rows('SELECT headers, reply FROM idempotency_keys')
      const texts = stored.map(row => `${row.headers} ${Buffer.from((row.reply ?? '') as string)}`)
      t.notMatch(texts.join('\n'), /(?:sk|st|ss|sl)-\w{10}/)
    })

    await t.test('a code is redeemed once, and a repetition gets the same answer', async t => {
      const { body } = await send('/api/admin/codes', { amount: '2' })
      const [{ code } = {}] = body.data as unknown as readonly Fields[]
      const first = await send('/api/codes/redeem', { code }, 'redeem-1')
      t.match(first, { status: 200, body: { data: { credited: '2', repeated: false } } })
      const again = await send('/api/codes/redeem', { code }, 'redeem-1')
      t.same(again.body, first.body)
      t.ok(isReplay(again))
    })

    await t.test('a reply that a crash lost is neither run again nor offered to be', async t => {
      const body = { account: 'ann', amount: '1' }
      const path = '/api/admin/accounts/debit'
      await send(path, body, 'lost-1')
      const before = await balance()
      const lose = (age: number) =>
        database.write([
          {
            sql: {
              name: 'test: lose a reply',
              text: `UPDATE idempotency_keys SET status = 102, reply = NULL, claimed = claimed - ?
                WHERE key = 'lost-1'`,
            },
            values: [age],
          },
        ])
      await lose(0)
      t.match(await send(path, body, 'lost-1'), { status: 409 }, 'its request may still run')
      await lose(3_600_000)
      t.match(await send(path, body, 'lost-1'), { status: 410, body: { message: /See what/ } })
      t.equal(await balance(), before)
    })

    await t.test('a change without secrets or effect is answered again', async t => {
      const path = '/api/admin/accounts/rename'
      await send('/api/admin/accounts', { name: 'cat' })
      const first = await send(path, { account: 'cat', name: 'dog' }, 'rename-1')
      t.match(first, { status: 200 })
      const again = await send(path, { account: 'cat', name: 'dog' }, 'rename-1')
      t.same(again.body, first.body)
      t.ok(isReplay(again))
    })

    await t.test('reads ignore the key, and no key stays claimed', async t => {
      const key = { ...headers, 'idempotency-key': 'read-1' }
      for (const path of ['/api/admin/accounts', '/api/admin/keys'])
        t.match(await gateway.ask('GET', path, undefined, key), { status: 200 })
      t.same(await rows(`SELECT * FROM idempotency_keys WHERE key = 'read-1'`), [])
      const revoke = { key: 2 }
      const statuses: number[] = []
      for (const each of ['revoke-1', 'revoke-2', 'revoke-2'])
        statuses.push((await send('/api/admin/keys/revoke', revoke, each)).status)
      t.equal(statuses[0], 200)
      t.equal(statuses[2], statuses[1], 'a revoked key is revoked once')
      await eventually(async () => {
        const open = await rows('SELECT key FROM idempotency_keys WHERE process IS NOT NULL')
        return open.length === 0 || undefined
      })
    })

    await t.test('an operator who leaves before the answer has done it once', async t => {
      const before = Number(await balance())
      const body = JSON.stringify({ account: 'ann', amount: '3' })
      const path = '/api/admin/accounts/credit'
      const COUNT = 12
      for (let at = 0; at < COUNT; at++) {
        const leaving = AbortSignal.timeout(at)
        await fetch(gateway.url + path, {
          method: 'POST',
          body,
          signal: leaving,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'idempotency-key': `left-${at}`,
          },
        }).catch(() => {})
      }
      for (let at = 0; at < COUNT; at++)
        await eventually(async () => {
          const { status } = await send(path, JSON.parse(body), `left-${at}`)
          return status === 200 || status === 410 || undefined
        })
      t.equal(Number(await balance()), before + 3 * COUNT)
    })
  })
