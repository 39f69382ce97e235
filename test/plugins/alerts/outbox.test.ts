/** Alerts in both stores: one change of an alert wins, its messages keep their order and are tried
 *  again, old rows are deleted. */
import t, { type Test } from 'tap'
import { sendMail } from '../../../engine/egress/operator-mail.ts'
import type { HostBase, Row } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
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
import { mailSettingsOf } from '../../../plugins/webhooks/mail.ts'
import type { OutboxOptions } from '../../../plugins/webhooks/outbox.ts'
import { emptyOutbox } from '../../../plugins/webhooks/outbox.ts'
import { openBooks } from '../../helpers/money/ledger.ts'
import { startMailServer } from '../../helpers/money/mail-server.ts'
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
    const request: HostBase['request'] = async (_, { body = '' }) => {
      texts.push(String(JSON.parse(String(body)).text).split(' ')[0] ?? '')
      return {
        status: texts.length === 1 ? 500 : 200,
        headers: {},
        bytes: Buffer.from('ok'),
        text: 'ok',
      }
    }
    const outbox = startOutbox(
      t,
      database,
      alertQueue({ request, mail: sendMail }, section, undefined),
    )
    const now = Date.now()
    const add = (kind: 'firing' | 'resolved', id: string, to = receiver, attempts = 10) =>
      addMessage({ ...PLACE, receiver: to, kind, attempts, due: now, now }, id)
    await database.write([add('firing', 'msg_1'), add('resolved', 'msg_2')])
    await database.write([add('firing', 'msg_3', 'slack gone', 1)])
    await outbox.until(
      () => texts.length > 0,
      states => states.some(each => each.outcome !== null),
    )
    outbox.skip(60_000)
    await outbox.until(undefined, states => states.every(({ state }) => state !== 'pending'))
    await outbox.stop()
    t.same(texts, ['ALERT', 'ALERT', 'RECOVERED'])
    t.match(await outbox.states(), [
      { state: 'delivered' },
      { state: 'delivered' },
      { state: 'failed', outcome: 'removed' },
    ])
    await database.write(deleteOld(now + 1))
    t.same(await outbox.states(), [])
  })

  t.test(`alerts on ${engine}: a mail waits for its server, and arrives once`, async t => {
    const { database } = await openBooks(t, engine)
    await database.migrate('alerts', migrations)
    const server = await startMailServer(t)
    const to = ['ann@a.example', 'bob@a.example'].map(each => ({ kind: 'mail', to: each }) as const)
    const section = SECTION.read({ to, name: 'eu\r\nBcc: evil@a.example' })
    const raw = {
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      user: 'ops',
      password: 'right',
      from: 'tollgate@a.example',
    }
    const mail = mailSettingsOf({ section: () => raw as never })
    const host = { request: () => Promise.reject(new Error('not used')), mail: sendMail }
    const outbox = startOutbox(t, database, alertQueue(host, section, mail))
    const object = 'm\r\nBcc: evil@a.example'
    const now = Date.now()
    await server.stop()
    await database.write(
      section.to.map((each, index) =>
        addMessage(
          {
            ...PLACE,
            object,
            receiver: receiverId(each),
            kind: 'firing',
            attempts: 10,
            due: now,
            now,
          },
          `msg_${index}`,
        ),
      ),
    )
    const attempted = (number: number) => (states: readonly Row[]) =>
      states.every(({ attempts }) => Number(attempts) === number)
    await outbox.until(undefined, attempted(1))
    t.match(await outbox.states(), [{ outcome: 'SEND_FAILED', detail: /ECONNREFUSED/ }, {}])
    await server.start()
    for (const [index, [stage, status]] of REFUSALS.entries()) {
      server.refuses = stage
      outbox.skip(86_400_000)
      await outbox.until(undefined, attempted(index + 2))
      const refused = { outcome: 'refused', status, detail: new RegExp(`no ${stage} for you`) }
      t.match(await outbox.states(), [refused, refused])
    }
    server.refuses = undefined
    outbox.skip(86_400_000)
    await outbox.until(undefined, states => states.every(({ state }) => state === 'delivered'))
    await outbox.stop()
    t.match(outbox.lines[0], { kind: 'mail', receiver: /@a\.example$/, text: 'alert' })
    t.same(server.mails.flatMap(each => each.to).sort(), ['ann@a.example', 'bob@a.example'])
    for (const { text } of server.mails) {
      t.match(text, /^Subject: ALERT eu Bcc: evil@a\.example: disk m Bcc: evil@a\.example\r$/m)
      t.match(text, /^Message-ID: <msg_[01]@a\.example>\r$/m)
      t.notMatch(text.split('\r\n\r\n')[0], /^Bcc:/m)
    }
  })
}

const REFUSALS = [
  ['login', 535],
  ['recipient', 550],
  ['mail', 451],
] as const
const STATES = 'SELECT state, attempts, outcome, status, detail FROM alert_messages ORDER BY id'
/** Runs the outbox of a queue by a clock that can be set forward. */
const startOutbox = (t: Test, database: OpenDatabase, queue: OutboxOptions['queue'] & object) => {
  const stopping = new AbortController()
  let ahead = 0
  const silent = () => {}
  const lines: object[] = []
  const options = {
    database: { read: database.read, write: database.write, now: async () => Date.now() + ahead },
    log: {
      debug: silent,
      info: (fields: object, text?: string) => void lines.push({ ...fields, text }),
      warn: silent,
      error: silent,
    },
    metrics: { count: silent, time: silent, gauge: silent },
    send: () => Promise.reject(new Error('not used')),
    queue,
    interval: 20,
  } satisfies OutboxOptions
  const isDone = emptyOutbox(options, stopping.signal)
  const stop = () => {
    stopping.abort()
    return isDone
  }
  t.teardown(stop)
  const states = () => database.read(sql('states', STATES), [])
  return {
    stop,
    states,
    lines,
    /** ms. */
    skip(time: number) {
      ahead += time
    },
    async until(isReady: (() => boolean) | undefined, holds: (states: readonly Row[]) => boolean) {
      while ((isReady && !isReady()) || !holds(await states()))
        await new Promise(resolve => setImmediate(resolve))
    },
  }
}
