/** A plain call is one row of the ledger, written when it ends: its key may have got a quota, lost it or got another one by
 *  then. It ends as it began. */
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
import { plugin } from '../../helpers/core.ts'
import { installOn, post } from '../../helpers/idempotent.ts'
import { eventually } from '../../helpers/primary.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store.ts'

const BODY = JSON.stringify({ model: 'm', messages: [], max_tokens: 600 })
const ANSWER = JSON.stringify({ usage: { prompt_tokens: 1_000, completion_tokens: 500 } })
/** What it comes to, nanos. */
const DUE = 6_000_000
/** Nanos, as a key says it. */
const quotaOf = (nanos: number) => String(nanos / 2_000)
const ROOM = 100_000_000

/** Who calls, by headers: what this process knows of the key, which may be old. */
const caller = plugin({
  async handle({ request, slots }, next) {
    const { key, quota } = request.headers
    const own = { id: Number(key), name: 'k', ...(quota && { quota: Number(quota) }) }
    slots.set(ACCOUNT, { id: 1, name: 'ann', role: 'customer', key: own })
    await next()
  },
})
const stores = await Promise.all(ENGINES.map(engine => startAnyStore(t, engine)))

for (const store of stores)
  t.test(`on ${store.engine}`, async t => {
    const here = await installOn(t, store)
    const { database } = here
    const stages = {
      ...{ caller, model: model as Plugin, meter: meter as Plugin },
      translate: translate as Plugin,
    }
    const document = {
      models: { m: { to: 'main/m', price: { input: '2.00 / 1M', output: '8.00 / 1M' } } },
    }
    const route = { model: 'body', translate: 'openai-chat' }
    const { url } = await here.worker({ stages, document, route })
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
    let spent = 0

    const changes = [
      ['unlimited to a quota', undefined, ROOM],
      ['a quota to unlimited', ROOM, undefined],
      ['a quota to another', ROOM, 2 * ROOM],
    ] as const
    for (const [at, [what, before, after]] of changes.entries())
      t.test(what, async t => {
        const key = 11 + at
        // The first opens the key's wallet; it holds of what it takes ahead.
        here.script = (_, response) =>
          void response.setHeader('content-type', 'application/json').end(ANSWER)
        t.equal((await call(key, before)).status, 200)
        let rows: unknown
        let within: unknown
        here.script = async (_, response) => {
          rows = await read(`SELECT state FROM charges WHERE key = ${key}`)
          await database.write(changeQuota(key, nanos(before), nanos(after)))
          // One that begins after the change ends before the one that began before it.
          here.script = (_, response) =>
            void response.setHeader('content-type', 'application/json').end(ANSWER)
          within = (await call(key, after)).status
          response.setHeader('content-type', 'application/json').end(ANSWER)
        }
        t.equal((await call(key, before)).status, 200)
        t.same(rows, [{ state: 'settled' }], 'it was no row yet when the quota changed')
        t.equal(within, 200)
        spent += 3 * DUE
        const charges = await read(
          `SELECT state, amount, key_held FROM charges WHERE key = ${key} ORDER BY key_held`,
        )
        const [old, young] = [before, after].map(each => (each === undefined ? 0 : 1))
        t.same(
          charges,
          [old, old, young]
            .toSorted()
            .map(key_held => ({ state: 'settled', amount: DUE, key_held })),
        )
        // What this process took ahead goes back when nobody needs it.
        const settled = await eventually(async () => {
          const row = await wallet(key * 2 + 1)
          return row?.reserved === 0 ? row : undefined
        })
        t.match(settled, {
          used: 3 * DUE,
          limited: before !== undefined && after !== undefined ? 1 : 0,
        })
        if (after !== undefined) t.equal(settled.balance, after - 3 * DUE, 'what is left of it')
      })

    t.test('a quota smaller than what the call will cost: it began without one', async t => {
      const key = 21
      here.script = async (_, response) => {
        await database.write(changeQuota(key, undefined, BigInt(DUE - 2_000)))
        response.setHeader('content-type', 'application/json').end(ANSWER)
      }
      const reply = await call(key)
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('x-tollgate-charge'), '0.006')
      spent += DUE
      t.match(await wallet(key * 2 + 1), { used: DUE, balance: -2_000, reserved: 0 })
      const refused = await call(key, DUE - 2_000)
      t.equal(refused.status, 403)
      t.match(refused.text, 'pre_consume_token_quota_failed')
    })

    t.test('the books are exact', async t => {
      t.same(await audit(database), [])
      const row = await eventually(async () => {
        const found = await wallet(walletOf.account(1))
        return found?.reserved === 0 ? found : undefined
      })
      t.match(row, { used: spent, balance: 10 ** 12 - spent })
    })
  })
