/** A plain call is one row of the ledger, written at its end. A quota of its key that changes
 *  during the call does not change the terms of the call. */
import t from 'tap'
import type { Plugin } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { changeQuota } from '../../../plugins/ledger/views/wallets.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import translate from '../../../plugins/translate/index.ts'
import { installOn, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { pluginOf } from '../../helpers/gateway/test-server.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const BODY = JSON.stringify({ model: 'm', messages: [], max_tokens: 600 })
const ANSWER = JSON.stringify({
  choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 500 },
})
/** The cost of a call in nanos. */
const COST = 6_000_000
/** Nanos as the quota of a key. */
const quotaOf = (nanos: number) => String(nanos / 2_000)
const ROOM = 100_000_000

/** Sets the account by request headers: the key as this process knows it, which may be outdated. */
const caller = pluginOf({
  async handle({ request, slots }, next) {
    const { key, quota } = request.headers
    const own = { id: Number(key), name: 'k', ...(quota && { quota: Number(quota) }) }
    slots.set(ACCOUNT, { id: 1, name: 'ann', role: 'customer', key: own })
    await next()
  },
})
const stores = await Promise.all(ENGINES.map(engine => startAnyStore(t, engine)))

for (const store of stores)
  t.test(`quota change during a plain call on ${store.engine}`, async t => {
    const installation = await installOn(t, store)
    const { database } = installation
    const stages = {
      caller,
      model: model as Plugin,
      meter: meter as Plugin,
      translate: translate as Plugin,
    }
    const document = {
      models: { m: { to: 'main/m', price: { input: '2.00 / 1M', output: '8.00 / 1M' } } },
    }
    const route = { model: 'body', translate: 'openai-chat' }
    const { url } = await installation.worker({ stages, document, route })
    await database.write([
      openWallet(walletOf.account(1), 0n),
      addCredit({ account: 1, kind: 'credit', amount: 10n ** 12n, note: 'test', at: 1 }),
    ])
    const read = (text: string) => database.read(sql(text, text), [])
    const wallet = async (id: number) =>
      (await read(`SELECT balance, used, reserved, limited FROM wallets WHERE id = ${id}`))[0]
    const call = (key: number, quota?: number) =>
      post(`${url}/a`, '', {
        body: BODY,
        headers: { key: String(key), ...(quota !== undefined && { quota: quotaOf(quota) }) },
      })
    const nanos = (quota: number | undefined) => (quota === undefined ? undefined : BigInt(quota))
    let totalCharged = 0

    const changes = [
      ['from no quota to a quota', undefined, ROOM],
      ['from a quota to none', ROOM, undefined],
      ['from a quota to another', ROOM, 2 * ROOM],
    ] as const
    for (const [at, [what, before, after]] of changes.entries())
      t.test(`quota change: a plain call keeps its terms ${what}`, async t => {
        const key = 11 + at
        // The first call creates the wallet of the key, and its process leases more than it needs.
        installation.script = (_, response) =>
          void response.setHeader('content-type', 'application/json').end(ANSWER)
        t.equal((await call(key, before)).status, 200)
        let rows: unknown
        let within: unknown
        installation.script = async (_, response) => {
          rows = await read(`SELECT state FROM charges WHERE key = ${key}`)
          await database.write(changeQuota(key, nanos(before), nanos(after)))
          // A call that begins after the change ends before the one that began before it.
          installation.script = (_, response) =>
            void response.setHeader('content-type', 'application/json').end(ANSWER)
          within = (await call(key, after)).status
          response.setHeader('content-type', 'application/json').end(ANSWER)
        }
        t.equal((await call(key, before)).status, 200)
        t.same(rows, [{ state: 'settled' }], 'the call had no row when the quota changed')
        t.equal(within, 200)
        totalCharged += 3 * COST
        const charges = await read(
          `SELECT state, amount, key_held FROM charges WHERE key = ${key} ORDER BY key_held`,
        )
        const [oldHold, newHold] = [before, after].map(each => (each === undefined ? 0 : 1))
        t.same(
          charges,
          [oldHold, oldHold, newHold]
            .toSorted()
            .map(key_held => ({ state: 'settled', amount: COST, key_held })),
        )
        // The process returns the unused part of its lease.
        const finalWallet = await eventually(async () => {
          const row = await wallet(key * 2 + 1)
          return row?.reserved === 0 ? row : undefined
        })
        t.match(finalWallet, {
          used: 3 * COST,
          limited: before !== undefined && after !== undefined ? 1 : 0,
        })
        if (after !== undefined)
          t.equal(finalWallet.balance, after - 3 * COST, 'the remaining quota')
      })

    t.test(
      'single-row charge: a quota set during a call does not refuse its larger cost',
      async t => {
        const key = 21
        installation.script = async (_, response) => {
          await database.write(changeQuota(key, undefined, BigInt(COST - 2_000)))
          response.setHeader('content-type', 'application/json').end(ANSWER)
        }
        const reply = await call(key)
        t.equal(reply.status, 200)
        t.equal(reply.headers.get('x-tollgate-charge'), '0.006')
        totalCharged += COST
        t.match(await wallet(key * 2 + 1), { used: COST, balance: -2_000, reserved: 0 })
        const refusal = await call(key, COST - 2_000)
        t.equal(refusal.status, 403)
        t.match(refusal.text, 'pre_consume_token_quota_failed')
      },
    )

    t.test('single-row charge: the ledger is exact afterwards', async t => {
      t.same(await audit(database), [])
      const row = await eventually(async () => {
        const row = await wallet(walletOf.account(1))
        return row?.reserved === 0 ? row : undefined
      })
      t.match(row, { used: totalCharged, balance: 10 ** 12 - totalCharged })
    })
  })
