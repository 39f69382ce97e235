/** Alerts in both stores: one change of an alert wins, its messages keep their order and are tried
 *  again, old rows are deleted. */
import t from 'tap'
import { alertQueue, receiverId } from '../../../plugins/alerts/queue.ts'
import { SECTION } from '../../../plugins/alerts/section.ts'
import {
  ALERTS,
  addMessage,
  alertOf,
  changeAlert,
  deleteOld,
} from '../../../plugins/alerts/statements.ts'
import { migrations } from '../../../plugins/alerts/tables.ts'
import { UNCOLLECTED_SINCE } from '../../../plugins/ledger/views/uncollected.ts'
import type { OutboxOptions } from '../../../plugins/webhooks/outbox.ts'
import { emptyOutbox } from '../../../plugins/webhooks/outbox.ts'
import { openBooks } from '../../helpers/money/ledger.ts'
import { ENGINES, sql } from '../../helpers/store/store.ts'

const PLACE = { rule: 'disk', object: 'data folder', text: 'Nearly full.' }

for (const engine of ENGINES) {
  t.test(`alerts on ${engine}: of two processes that change an alert one wins`, async t => {
    const { database } = await openBooks(t, engine)
    await database.migrate('alerts', migrations)
    const read = async () => (await database.read(ALERTS, [])).map(alertOf)
    const pending = { state: 'pending', since: 1, clearSince: null } as const
    const firing = { state: 'firing', since: 2, clearSince: null } as const
    const clearing = { ...firing, clearSince: 3 }
    const resolved = { state: 'resolved', since: 4, clearSince: null } as const
    const steps = [
      [undefined, pending],
      [pending, firing],
      [firing, clearing],
      [clearing, resolved],
    ] as const
    for (const [before, next] of [...steps, [resolved, pending] as const]) {
      await database.write([changeAlert(PLACE, before, next)])
      t.same(await read(), [{ ...PLACE, ...next }])
      await t.rejects(database.write([changeAlert(PLACE, before, next)]), { code: 'ALERT_MOVED' })
    }
    await database.write([changeAlert(PLACE, pending, null)])
    t.same(await read(), [])
    t.same(await database.read(UNCOLLECTED_SINCE, [0]), [])
  })

  t.test(`alerts on ${engine}: a recovery waits for its alert, which is tried again`, async t => {
    const { database } = await openBooks(t, engine)
    await database.migrate('alerts', migrations)
    const section = SECTION.read({ to: [{ kind: 'slack', url: 'http://a.example/' }] })
    const receiver = receiverId(section.to[0] as (typeof section.to)[number])
    const texts: string[] = []
    let ahead = 0
    const request: Parameters<typeof alertQueue>[0]['request'] = async (_, { body = '' }) => {
      texts.push(String(JSON.parse(body).text).split(' ')[0] ?? '')
      return { status: texts.length === 1 ? 500 : 200, headers: {}, text: 'ok' }
    }
    const now = Date.now()
    const add = (kind: 'firing' | 'resolved', id: string) =>
      addMessage({ ...PLACE, receiver, kind, attempts: 10, due: now, now }, id)
    await database.write([add('firing', 'msg_1'), add('resolved', 'msg_2')])
    await database.write([
      addMessage(
        { ...PLACE, receiver: 'slack gone', kind: 'firing', attempts: 1, due: now, now },
        'msg_3',
      ),
    ])
    const states = () =>
      database.read(sql('states', 'SELECT state, outcome FROM alert_messages ORDER BY id'), [])
    const stop = new AbortController()
    const silent = () => {}
    const options = {
      database: { read: database.read, write: database.write, now: async () => Date.now() + ahead },
      log: { debug: silent, info: silent, warn: silent, error: silent },
      metrics: { count: silent, time: silent, gauge: silent },
      send: () => Promise.reject(new Error('not used')),
      queue: alertQueue({ request }, section),
      interval: 20,
    } satisfies OutboxOptions
    const isDone = emptyOutbox(options, stop.signal)
    while (texts.length < 1 || (await states()).every(({ outcome }) => outcome === null))
      await new Promise(resolve => setImmediate(resolve))
    ahead = 60_000
    while ((await states()).some(({ state }) => state === 'pending'))
      await new Promise(resolve => setImmediate(resolve))
    stop.abort()
    await isDone
    t.same(texts, ['ALERT', 'ALERT', 'RECOVERED'])
    t.match(await states(), [
      { state: 'delivered' },
      { state: 'delivered' },
      { state: 'failed', outcome: 'removed' },
    ])
    await database.write(deleteOld(now + 1))
    t.same(await states(), [])
  })
}
