/** A rotated key is one key: all its secrets share quota, period and limits, on both stores; the
 *  command, the API and the admin endpoint mean the same by it. */
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'

t.setTimeout(300_000)

interface Rotated {
  readonly id: number
  readonly key: string
  readonly earlier: { readonly expires: string | null }
}
const QUOTA = 2_000

for (const engine of ['sqlite', 'postgres'] as const)
  t.test(`rotated keys (${engine}): all secrets share one quota and the limits`, async t => {
    const server = engine === 'postgres' ? await startPostgres() : undefined
    const url = server ? await server.create() : 'sqlite:'
    const gateway = await startGateway({ env: { DATABASE_URL: url } })
    t.teardown(async () => {
      await gateway.stop()
      await server?.stop()
    })
    const database = await openDatabase({ url, data: gateway.data, writeTimeout: 10_000 })
    await giveCredit(database, 1, 10n ** 15n)
    await database.close()
    const admin = /\b(st-[A-Za-z0-9]{20,})/
    const ask = async (
      method: string,
      path: string,
      secret: string,
      body?: object,
    ): Promise<{ readonly status: number; readonly json: { readonly data: never } }> => {
      const reply = await fetch(gateway.url + path, {
        method,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: reply.status, json: JSON.parse((await reply.text()) || '{}') }
    }
    const token = await eventually(() => admin.exec(gateway.output())?.[1])
    const create = async (more: object): Promise<{ id: number; key: string }> =>
      (await ask('POST', '/api/keys', token, { name: 'dbl', ...more })).json.data
    const rotate = async (id: number, body: object): Promise<Rotated> =>
      (await ask('POST', `/api/keys/${id}/rotate`, token, body)).json.data
    const call = async (secret: string): Promise<number> =>
      (
        await ask('POST', '/v1/chat/completions', secret, {
          model: 'gp-4.1',
          max_tokens: 5,
          messages: [{ role: 'user', content: 'hello' }],
        })
      ).status
    const listed = async () =>
      (await ask('GET', '/api/keys?limit=100', token)).json.data as readonly {
        readonly id: number
        readonly name: string
        readonly used_quota: number
        readonly quota_period: string | null
        readonly limits: object | null
      }[]

    const limits = { requests: '100/min', tokens: '1000000/min' }
    const first = await create({ quota: QUOTA, quota_period: 'month', limits })
    const keysBefore = (await listed()).length
    const second = await rotate(first.id, { overlap: '1h' })
    const third = await rotate(first.id, { overlap: '24h' })
    t.equal(second.id, first.id)
    t.ok(Date.parse(third.earlier.expires ?? '') > Date.now())
    const secrets = [first.key, second.key, third.key]
    const statuses = new Map<string, number[]>()
    for (let round = 0; round < 14; round++)
      for (const secret of secrets) {
        const status = await call(secret)
        statuses.set(secret, [...(statuses.get(secret) ?? []), status])
      }
    for (const secret of secrets) {
      t.equal(statuses.get(secret)?.[0], 200, 'each secret works')
      t.equal(statuses.get(secret)?.at(-1), 403, 'the quota is used up for each')
    }
    const [key] = (await listed()).filter(({ id }) => id === first.id)
    t.ok((key?.used_quota ?? 0) <= QUOTA, `${key?.used_quota} of ${QUOTA}`)
    t.match(key, { name: 'dbl', quota_period: 'month', limits })
    t.equal((await listed()).length, keysBefore, 'no row for an earlier secret')

    const leaked = await create({})
    const later = await rotate(leaked.id, { overlap: '24h' })
    t.same([await call(leaked.key), await call(later.key)], [200, 200])
    const last = await rotate(leaked.id, {})
    for (const secret of [leaked.key, later.key])
      await eventually(async () => (await call(secret)) === 401 || undefined)
    t.equal(await call(last.key), 200, 'without an overlap every earlier secret ends')

    const limited = await create({ limits: { requests: '3/min' } })
    const next = await rotate(limited.id, { overlap: '1h' })
    const answers: number[] = []
    for (const secret of [limited.key, next.key, limited.key, next.key, limited.key])
      answers.push(await call(secret))
    t.same(answers, [200, 200, 200, 429, 429], 'one rate over both secrets')
    await ask('DELETE', `/api/keys/${limited.id}`, token)
    const refusals: number[] = []
    for (let tries = 0; tries < 50 && !refusals.includes(401); tries++) {
      refusals.push(await call(limited.key))
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    t.ok(refusals.includes(401), 'a revoked key takes its earlier secrets with it')

    const short = await create({})
    t.equal(await call(short.key), 200)
    const after = await rotate(short.id, {})
    t.equal(after.earlier.expires, null)
    t.equal(await call(after.key), 200)
    t.equal((await ask('PATCH', `/api/keys/${first.id}`, token, { name: 'new' })).status, 200)
    const [renamed] = (await listed()).filter(({ id }) => id === first.id)
    t.match(renamed, { name: 'new', limits }, 'renaming keeps every limit')
  })
