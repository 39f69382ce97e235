/** Events are noted while the processes that send them are killed with -9, and the store's writer with them: every one
 *  arrives, with one id, properly signed, and twice at most as often as somebody was killed. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import notify from '../../../plugins/notify/index.ts'
import { enqueue, openEndpoint } from '../../../plugins/webhooks/statements.ts'
import { scaled } from '../../helpers/long.ts'
import { makeLedger } from '../../helpers/membership.ts'
import { eventually } from '../../helpers/primary.ts'
import { AUTHORITY, ok, startReceiver, status } from '../../helpers/receiver.ts'
import { createChance, seed } from '../../helpers/seeded.ts'
import { startStore } from '../../helpers/store.ts'
import { SECRET } from '../../helpers/webhooks.ts'

const KILLS = scaled(6, 500)
const EVENTS = scaled(300, 10_000)
const RECEIVERS = 3

t.test(`${EVENTS} events, ${KILLS} kills, seed ${seed()}`, async t => {
  const store = await startStore(t)
  const database = await store.open()
  await makeLedger(database)
  await database.migrate('notify', notify.migrations)
  const seen = new Set<string>()
  const receivers = await Promise.all(
    Array.from({ length: RECEIVERS }, () =>
      startReceiver(t, (one, response, incoming) => {
        // At once: a signature is good for five minutes.
        new Webhook(SECRET).verify(one.body, one.headers)
        seen.add(idOf(one))
        ok(one, response, incoming)
      }),
    ),
  )
  const dead = await startReceiver(t, status(500))
  const urls = [...receivers, dead].map(({ origin }) => `${origin}/?token=t`)
  await database.write(urls.map((url, index) => openEndpoint(index, url, SECRET)))
  for (let index = 0; index < 20; index++) await note(index, RECEIVERS)

  async function note(number: number, endpoint = number % RECEIVERS): Promise<void> {
    const id = `msg_${endpoint}_${String(number).padStart(6, '0')}`
    await database.write([enqueue({ id, endpoint, body: `{"n":${number}}`, attempts: 10, now: 1 })])
  }
  const pending = async (): Promise<number> => Number((await database.read(PENDING, []))[0]?.number)
  const random = createChance()
  const noting = (async () => {
    for (let number = 0; number < EVENTS; number++) {
      await note(number)
      if (number % 10 === 0) await new Promise(resolve => setTimeout(resolve, 5))
    }
  })()
  const start = (): ChildProcess =>
    fork(new URL('../../helpers/webhook-process.ts', import.meta.url), [store.data], {
      execArgv: [],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: AUTHORITY },
    })
  const count = () => receivers.reduce((sum, { received }) => sum + received.length, 0)
  const finished = () => seen.size === EVENTS
  let sender = start()
  t.teardown(() => sender.kill('SIGKILL'))
  for (let kill = 0; kill < KILLS; kill++) {
    // Only one that was at work is worth killing.
    const before = count()
    await eventually(() => count() > before || finished() || undefined)
    await new Promise(resolve => setTimeout(resolve, random() * 60))
    const gone = once(sender, 'exit')
    sender.kill('SIGKILL')
    if (kill % 3 === 2) {
      await store.kill()
      await store.respawn()
    }
    await gone
    sender = start()
  }
  await noting
  while (!finished()) {
    const before = count()
    await eventually(() => count() > before || finished() || undefined)
  }
  await eventually(async () => (await pending()) === 20 || undefined)
  for (const { received } of receivers) {
    const ids = received.map(idOf)
    const twice = ids.length - new Set(ids).size
    t.ok(twice <= KILLS, `${ids.length} deliveries, ${twice} of them again`)
    t.ok(received.every(({ body, headers }) => headers['webhook-id']?.endsWith(numberIn(body))))
  }
  t.ok(dead.received.length >= 20, 'a receiver that fails was tried, and delayed nobody')
  t.equal(await pending(), 20, 'only what failed waits')
  t.comment(
    `0 lost of ${EVENTS} in ${KILLS} kills: below ${(300 / KILLS).toFixed(1)} % of kills lose one`,
  )
})
const PENDING = {
  name: 'pending',
  text: "SELECT count(*) AS number FROM webhook_events WHERE state = 'pending'",
}
const idOf = ({ headers }: { headers: Record<string, string | undefined> }): string =>
  headers['webhook-id'] ?? ''
const numberIn = (body: string): string => String(JSON.parse(body).n).padStart(6, '0')
