/** Low-balance events on both engines: one event per crossing, merged within ten minutes, never
 *  lost. */
import t from 'tap'
import { settleCharge } from '../../../plugins/ledger/statements.ts'
import { walletsOf } from '../../../plugins/ledger/wallet.ts'
import { commands } from '../../../plugins/notify/commands.ts'
import { showSettings } from '../../../plugins/notify/settings.ts'
import { tryDelivery } from '../../../plugins/notify/test-delivery.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { call, payerOf } from '../../helpers/money/ledger.ts'
import { type NotificationDesk, openDesk } from '../../helpers/money/webhooks.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { ENGINES, statement } from '../../helpers/store/store.ts'

const UNIT = 1_000_000_000n
const URL = 'https://127.0.0.1:8443/hook'
const MERGE = 601_000

/** Quotas of the events so far, oldest first. */
const eventQuotas = async ({ rows }: NotificationDesk, account: number): Promise<number[]> =>
  (await rows(`SELECT body FROM webhook_events WHERE endpoint = ${account} ORDER BY id`)).map(
    ({ body }) => JSON.parse(String(body)).data.quota,
  )
let calls = 0
for (const engine of ENGINES)
  t.test(`low-balance events on ${engine}: follow the crossings of the threshold`, async t => {
    const desk = await openDesk(t, engine)
    const ledger = await desk.ledger()
    const spend = async (account: number, amount: bigint): Promise<void> => {
      const meteredCall = await call(desk, ledger, `r${++calls}`, payerOf(account), amount)
      await meteredCall.settle?.(amount)
    }
    t.test('low balance: one event on the crossing, none below it', async t => {
      await desk.credit(1, 10n * UNIT)
      await desk.save(1, { url: URL, threshold: 5 })
      t.equal(await desk.move(), 0, 'the balance is above the threshold')
      await spend(1, 5n * UNIT)
      t.equal(await desk.move(), 0, 'a balance equal to the threshold is not below it')
      await spend(1, 1n)
      t.equal(await desk.move(), 1)
      const [event] = await desk.rows('SELECT body FROM webhook_events WHERE endpoint = 1')
      t.equal(event?.body, '{"topic":"user_quota_too_low","data":{"quota":4.999998}}')
      await spend(1, UNIT)
      desk.ahead += MERGE
      t.equal(await desk.move(), 0)
    })

    t.test('low balance: a new crossing after a credit makes a new event', async t => {
      await desk.credit(1, 2n * UNIT)
      await spend(1, UNIT)
      t.equal(await desk.move(), 1)
      t.same(await eventQuotas(desk, 1), [4.999998, 4.999998])
      desk.ahead += MERGE
    })

    t.test('low balance: crossings within ten minutes become one event', async t => {
      await desk.credit(2, 10n * UNIT)
      await desk.save(2, { url: URL, threshold: 10 })
      await spend(2, UNIT)
      t.equal(await desk.move(), 1)
      for (const [seconds, amount] of [
        [0, 2n],
        [590, 3n],
      ] as const) {
        desk.ahead += seconds * 1_000
        await desk.credit(2, 5n * UNIT)
        await spend(2, 5n * UNIT + amount * UNIT)
        t.equal(await desk.move(), 0, `no event ${seconds} s after the last one`)
      }
      desk.ahead += MERGE - 590_000
      t.equal(await desk.move(), 1)
      t.equal(await desk.move(), 0)
      t.same(await eventQuotas(desk, 2), [9, 4], 'the event has the last balance')
    })

    t.test('low balance: a threshold raised above the balance makes an event', async t => {
      await desk.credit(3, 10n * UNIT)
      await desk.save(3, { url: URL, threshold: '2.5' })
      t.equal(await desk.move(), 0)
      await t.rejects(desk.save(3, { threshold: 'ten' }), {
        code: 'AMOUNT_MALFORMED',
        message: /^Invalid 'threshold': "ten" is not a decimal/,
        param: 'threshold',
      })
      await desk.save(3, { threshold: 20 })
      t.equal(await desk.move(), 1)
      desk.ahead += MERGE
      for (const threshold of [20, 30]) await desk.save(3, { threshold })
      t.equal(await desk.move(), 0, 'once')
      await desk.save(3, { threshold: 1 })
      await desk.save(3, { threshold: 11 })
      t.equal(await desk.move(), 1)
      t.same(await eventQuotas(desk, 3), [10, 10])
    })

    t.test('low balance: an account without a wallet gets an event', async t => {
      await desk.save(4, { url: URL, threshold: 1 })
      t.equal(await desk.move(), 1)
      t.same(await eventQuotas(desk, 4), [0])
    })

    t.test(
      'low balance: without an endpoint no event is pending; setting one uses the current balance',
      async t => {
        await desk.credit(5, 10n * UNIT)
        await desk.save(5, { threshold: 9 })
        await spend(5, 2n * UNIT)
        t.equal(await desk.move(), 0)
        t.same(await desk.rows('SELECT * FROM notification_crossings WHERE account = 5'), [])
        await desk.save(5, { url: URL })
        t.equal(await desk.move(), 1)
        desk.ahead += MERGE
        await desk.credit(5, 5n * UNIT)
        await desk.save(5, { url: null })
        await spend(5, 5n * UNIT)
        t.equal(await desk.move(), 0)
        await desk.save(5, { threshold: null, url: URL })
        t.equal(await desk.move(), 0)
        t.same(await eventQuotas(desk, 5), [8])
      },
    )

    t.test('low balance: a settlement that is rolled back makes no event', async t => {
      await desk.credit(6, 10n * UNIT)
      await desk.save(6, { url: URL, threshold: 5 })
      const meteredCall = await call(desk, ledger, `s${engine}`, payerOf(6), 8n * UNIT)
      const how = { isEstimated: false, usage: '{}', lines: '[]', closedAt: 1, uncollected: 0n }
      const wallets = walletsOf(6, undefined)
      const settle = settleCharge({ request: `s${engine}`, amount: 8n * UNIT, wallets, ...how })
      const failingStatement = {
        sql: { name: 'broken', text: 'UPDATE wallets SET used = used WHERE id = -1' },
      }
      const list = [settle, { ...failingStatement, values: [], rows: 1, otherwise: 'BROKEN' }]
      await t.rejects(desk.database.write(list), { code: 'BROKEN' })
      t.equal(await desk.move(), 0)
      await meteredCall.settle?.(8n * UNIT)
      t.equal(await desk.move(), 1)
      t.same(await eventQuotas(desk, 6), [2])
    })

    t.test('low balance: usage of a key quota makes no event', async t => {
      // Wallet 14 belongs to account 7, wallet 15 to key 7.
      await desk.credit(7, 10n * UNIT)
      await desk.save(7, { url: URL, threshold: 5 })
      const meteredCall = await call(desk, ledger, `k${engine}`, payerOf(70, 7, 10n * UNIT), 0n)
      await meteredCall.settle?.(0n)
      await desk.database.write([
        statement('key', 'UPDATE wallets SET balance = 0, limited = 0 WHERE id = ?', [15]),
      ])
      t.match(await desk.rows('SELECT balance FROM wallets WHERE id = 15'), [{ balance: 0 }])
      t.equal(await desk.move(), 0)
    })

    t.test('low balance: two concurrent jobs make one event', async t => {
      await desk.credit(8, 10n * UNIT)
      await desk.save(8, { url: URL, threshold: 11 })
      const counts = await Promise.all([desk.move(), desk.move(), desk.move()])
      t.equal(
        counts.reduce((sum, each) => sum + each, 0),
        1,
      )
      t.same(await eventQuotas(desk, 8), [10])
    })

    t.test(
      'low balance: concurrent charges and threshold changes make an event in any order',
      async t => {
        for (let account = 100; account < 110; account++) {
          await desk.credit(account, 10n * UNIT)
          await desk.save(account, { url: URL, threshold: 1 })
          const meteredCall = await call(
            desk,
            ledger,
            `m${engine}${account}`,
            payerOf(account),
            5n * UNIT,
          )
          await Promise.all([meteredCall.settle?.(5n * UNIT), desk.save(account, { threshold: 8 })])
          t.equal(await desk.move(), 1)
          t.same(await eventQuotas(desk, account), [5])
        }
      },
    )

    t.test('low balance: events are listed, tested and replayed', async t => {
      await desk.save(1, { url: `${URL}?token=t0ken` })
      const settings = JSON.stringify(await showSettings(hostOver(desk.database), 1))
      t.match(JSON.parse(settings), {
        url: `${URL}?token=t0ken`,
        threshold: 5,
        secret: /^whsec_….{4}$/,
        disabled: null,
        deliveries: [{ state: 'pending', attempts: 0, status: null, message: '' }, {}],
      })
      const delivery = await tryDelivery(desk.database, 1, 0)
      t.match(delivery, { state: 'pending', attempts: 0 })
      await t.rejects(tryDelivery(desk.database, 999, 0), { code: 'NO_WEBHOOK', status: 409 })
      const host = hostOver(desk.database)
      const run = (...args: string[]) =>
        runCommand(t, 'webhooks', commands, host, [...args, '--json'])
      const events = (await run('list', '--state', 'pending')).json() as { id: string }[]
      t.ok(events.some(({ id }) => id === delivery.id))
      t.notMatch(JSON.stringify(events), /t0ken|whsec/)
      t.same((await run('list', '--state', 'delivered')).json(), [])
      t.match((await run('replay', String(delivery.id))).json(), [
        { id: delivery.id, state: 'pending' },
      ])
      t.match(await run('replay', "' OR 1=1 --"), { exit: 3, err: /EVENT_UNKNOWN/ })
    })
  })
