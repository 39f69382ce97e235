/** Realtime sessions on budgets in money and in tokens, while workers and whole gateways are
 *  killed: each session is charged for the answers that its client got, and at most for those that
 *  the upstream sent; no budget is passed, and nothing stays held. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { createChance, shortOrLong } from '../../helpers/run-settings.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree, type Tree } from '../gateway-tree.ts'
import { STORES, type StoreName } from '../stores.ts'
import { untilReaped } from './gateways.ts'

t.setTimeout(scaled(shortOrLong(240_000, 1_200_000)))
const KILLS = shortOrLong(3, 40)
const SESSIONS = 12
const ANSWER = JSON.stringify({
  type: 'response.done',
  response: { id: 'r', usage: { total_tokens: 60, input_tokens: 40, output_tokens: 20 } },
})
/** Nanos: 40 at 0.01 and 20 at 0.02. */
const COST = 800_000_000
/** Answers that the budgets in money and in tokens cover. */
const MOST = { paid: 40 * KILLS, counted: 60 * KILLS } as const

const routesTo = (port: number): string => `
pipeline: [errors, auth, model, meter, realtime]
upstreams: { up: { url: 'http://127.0.0.1:${port}' } }
models: { talk: { to: up/there, context: 100, output: 50, price: { input: 0.01, output: 0.02 } } }
budgets:
  paid: { of: account, amount: ${(MOST.paid * COST) / 1e9}, per: life }
  counted: { of: account, tokens: ${MOST.counted * 60}, per: life }
routes:
  - { path: 'WS /v1/realtime', auth: key, model: { query: model }, realtime: true, errors: openai }
`
/** Repeats each message of a client. */
const startUpstream = async (t: Test): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', socket => {
    socket.on('error', () => {})
    socket.on('message', message => socket.send(message.toString()))
  })
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Session {
  readonly request: string
  requests: number
  received: number
}
/** Opens sessions one after another, and asks for answers in each, until `isOver`. */
const talk = async (
  tree: Tree,
  key: string,
  sessions: Session[],
  isOver: () => boolean,
): Promise<void> => {
  while (!isOver()) {
    const headers = { authorization: `Bearer ${key}` }
    const client = await openSocket(`${tree.url()}/v1/realtime?model=talk`, [], { headers }).catch(
      () => undefined,
    )
    if (!client) {
      await pause(50)
      continue
    }
    const session = { request: String(client.headers['x-request-id']), requests: 0, received: 0 }
    sessions.push(session)
    const { socket } = client
    while (!isOver() && socket.readyState === socket.OPEN) {
      socket.send(ANSWER)
      session.requests++
      await client.until(session.requests)
      session.received = client.received.filter(text => text === ANSWER).length
      await pause(10)
    }
    socket.close()
    await client.closed
  }
}

const WINDOWS = sql(
  'windows',
  `SELECT b.budget, w.used, w.balance, w.reserved FROM budget_windows b
   JOIN wallets w ON w.id = b.wallet ORDER BY b.budget`,
)
const CHARGES = sql('charges', 'SELECT request, state, amount FROM charges')

for (const store of Object.keys(STORES) as StoreName[])
  t.test(`realtime sessions on ${store}: kills lose no answer and pass no budget`, async t => {
    const chance = createChance()
    const setup = await STORES[store]()
    t.teardown(() => setup.end())
    const routes = routesTo(await startUpstream(t))
    const count = store === 'postgres' ? 2 : 1
    const trees = Array.from({ length: count }, () => createTree(routes, setup.url, {}))
    t.teardown(async () => {
      for (const tree of trees) {
        await tree.stop().catch(() => {})
        tree.remove()
      }
    })
    for (const tree of trees) await tree.start()
    const [{ data, output }] = trees as [Tree]
    const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(output())?.[1])
    const database = await setup.open(data)
    t.teardown(() => database.close())
    await giveCredit(database, 1, 10n ** 15n)
    let isOver = false
    const sessions: Session[] = []
    const clients = Array.from({ length: SESSIONS }, (_, at) =>
      talk(trees[at % count] as Tree, key, sessions, () => isOver),
    )
    const receivedInAll = (): number => sessions.reduce((sum, { received }) => sum + received, 0)
    for (let kill = 1; kill <= KILLS; kill++) {
      // In the middle of sessions, and the last ones where the budget is used up.
      const answers = Math.min((kill * MOST.paid) / KILLS, MOST.paid * 0.9)
      await eventually(() => receivedInAll() >= answers * 0.8)
      const tree = trees[Math.floor(chance() * count)] as Tree
      const kind = chance() < 0.6 ? 'worker' : 'all'
      await tree.kill(kind, chance)
      if (kind === 'all') tree.launch()
      await tree.untilRecovered()
    }
    isOver = true
    await Promise.all(clients)
    await untilReaped(setup, trees)
    const rows = await eventually(async () => {
      const charges = await database.read(CHARGES, [])
      return charges.some(({ state }) => state === 'open') ? undefined : charges
    })
    const charged = new Map(rows.map(({ request, amount }) => [String(request), Number(amount)]))
    const wrong = sessions.flatMap(session => {
      const answers = (charged.get(session.request) ?? 0) / COST
      const isRight = answers >= session.received && answers <= session.requests
      return isRight && Number.isInteger(answers) ? [] : [{ ...session, answers }]
    })
    t.same(
      wrong,
      [],
      'each session is charged for the answers between those received and asked for',
    )
    t.comment(`${sessions.length} sessions, ${receivedInAll()} answers received`)
    for (const tree of trees) await tree.stop()
    const last = await setup.openLast(data)
    const windows = await last.database.read(WINDOWS, [])
    t.comment(JSON.stringify(windows))
    t.same(
      windows.map(({ balance, reserved }) => [Number(balance) >= 0, Number(reserved)]),
      [
        [true, 0],
        [true, 0],
      ],
      'no budget is passed, and nothing is held',
    )
    t.same(await audit(last.database), [])
    await last.close()
  })
