/** Events are written while their sender and the store's writer are killed with -9: each arrives
 *  with one id and a valid signature, and duplicates number at most one a kill. */
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

t.test(
  `webhook delivery: no event is lost in ${EVENTS} events and ${KILLS} kills, seed ${seed()}`,
  async t => {
    const store = await startStore(t)
    const database = await store.open()
    await makeLedger(database)
    await database.migrate('notify', notify.migrations)
    const deliveredIds = new Set<string>()
    const receivers = await Promise.all(
      Array.from({ length: RECEIVERS }, () =>
        startReceiver(t, (one, response, incoming) => {
          // Verified at once, because a signature is valid for five minutes.
          new Webhook(SECRET).verify(one.body, one.headers)
          deliveredIds.add(idOf(one))
          ok(one, response, incoming)
        }),
      ),
    )
    const failing = await startReceiver(t, status(500))
    const urls = [...receivers, failing].map(({ origin }) => `${origin}/?token=t`)
    await database.write(urls.map((url, index) => openEndpoint(index, url, SECRET)))
    for (let index = 0; index < 20; index++) await addEvent(index, RECEIVERS)

    async function addEvent(number: number, endpoint = number % RECEIVERS): Promise<void> {
      const id = `msg_${endpoint}_${String(number).padStart(6, '0')}`
      await database.write([
        enqueue({ id, endpoint, body: `{"n":${number}}`, attempts: 10, now: 1 }),
      ])
    }
    const pending = async (): Promise<number> =>
      Number((await database.read(PENDING, []))[0]?.number)
    const random = createChance()
    const writing = (async () => {
      for (let number = 0; number < EVENTS; number++) {
        await addEvent(number)
        if (number % 10 === 0) await new Promise(resolve => setTimeout(resolve, 5))
      }
    })()
    const start = (): ChildProcess =>
      fork(new URL('../../helpers/webhook-process.ts', import.meta.url), [store.data], {
        execArgv: [],
        env: { ...process.env, NODE_EXTRA_CA_CERTS: AUTHORITY },
      })
    const count = () => receivers.reduce((sum, { received }) => sum + received.length, 0)
    const isFinished = () => deliveredIds.size === EVENTS
    let sender = start()
    t.teardown(() => sender.kill('SIGKILL'))
    for (let kill = 0; kill < KILLS; kill++) {
      // Kills a sender only after it delivered something.
      const before = count()
      await eventually(() => count() > before || isFinished() || undefined)
      await new Promise(resolve => setTimeout(resolve, random() * 60))
      const exited = once(sender, 'exit')
      sender.kill('SIGKILL')
      if (kill % 3 === 2) {
        await store.kill()
        await store.respawn()
      }
      await exited
      sender = start()
    }
    await writing
    while (!isFinished()) {
      const before = count()
      await eventually(() => count() > before || isFinished() || undefined)
    }
    await eventually(async () => (await pending()) === 20 || undefined)
    for (const { received } of receivers) {
      const ids = received.map(idOf)
      const duplicates = ids.length - new Set(ids).size
      t.ok(duplicates <= KILLS, `${ids.length} deliveries, ${duplicates} of them duplicates`)
      t.ok(received.every(({ body, headers }) => headers['webhook-id']?.endsWith(numberIn(body))))
    }
    t.ok(failing.received.length >= 20, 'a failing receiver was tried and delayed no other')
    t.equal(await pending(), 20, 'only events of the failing receiver are pending')
    t.comment(
      `0 lost of ${EVENTS} in ${KILLS} kills: below ${(300 / KILLS).toFixed(1)} % of kills lose one`,
    )
  },
)
const PENDING = {
  name: 'pending',
  text: "SELECT count(*) AS number FROM webhook_events WHERE state = 'pending'",
}
const idOf = ({ headers }: { headers: Record<string, string | undefined> }): string =>
  headers['webhook-id'] ?? ''
const numberIn = (body: string): string => String(JSON.parse(body).n).padStart(6, '0')
