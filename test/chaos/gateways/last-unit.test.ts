/** Five hundred calls at once on the last units of budgets in money and in tokens, while a process
 *  that serves them is killed: no budget is passed, nothing stays held, and each is used up in the
 *  end. On PostgreSQL one of two gateways is killed. SQLite belongs to one gateway: there one of
 *  its two workers is. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree, type Tree } from '../gateway-tree.ts'
import { STORES, type StoreName } from '../stores.ts'
import { untilReaped } from './gateways.ts'

t.setTimeout(scaled(240_000))
const CALLS = 500
/** Tokens of an answer: those that a call may use, and those that it uses. */
const [MOST, USED] = [60, 40]
const NANOS_PER_TOKEN = 2_000_000
/** Words of a stream before the kill. */
const FIRST_WORDS = 5
const eventOf = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = eventOf({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const LAST = eventOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const usage = { prompt_tokens: 9, completion_tokens: USED }
const message = { role: 'assistant', content: 'word '.repeat(USED) }
const ANSWER = JSON.stringify({ id: 'x', choices: [{ index: 0, message }], usage })

/** About ten calls fit into each. A call has one of the tags. */
const LIMITS = { paid: 1_190_000_000, counted: 1_799 } as const
type Budget = keyof typeof LIMITS
const BUDGETS = Object.keys(LIMITS) as Budget[]
const routesTo = (port: number): string => `
pipeline: [errors, auth, model, tags, meter, translate]
upstreams: { up: { url: 'http://127.0.0.1:${port}', connections: 1000 } }
models: { words: { to: up, price: { input: 0, output: 2 / 1k }, output: 1000 } }
tags: { known: { paid: [all], counted: [all] } }
budgets:
  paid: { of: { tag: paid }, amount: ${LIMITS.paid / 1e9}, per: life }
  counted: { of: { tag: counted }, tokens: ${LIMITS.counted}, per: life }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat }
`
const bodyOf = (stream: boolean): string =>
  JSON.stringify({ model: 'words', messages: [], max_tokens: MOST, stream })
/** At most, in the unit of the budget: a token has at least one byte. */
const MOST_OF_CALL = { paid: MOST * NANOS_PER_TOKEN, counted: bodyOf(false).length + MOST } as const

/** No answer is complete before `open`. */
const startUpstream = async (t: Test) => {
  const gate = Promise.withResolvers<void>()
  let arrived = 0
  const answer = async (isStream: boolean, response: ServerResponse): Promise<void> => {
    arrived++
    if (isStream)
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(WORD.repeat(FIRST_WORDS))
    await gate.promise
    const rest = `${WORD.repeat(USED - FIRST_WORDS)}${LAST}${eventOf({ choices: [], usage })}`
    if (isStream) response.end(`${rest}data: [DONE]\n\n`)
    else response.setHeader('content-type', 'application/json').end(ANSWER)
  }
  const server = createServer((request, response) => {
    response.on('error', () => {})
    let text = ''
    request.setEncoding('utf8').on('data', part => {
      text += part
    })
    request.on('end', () => void answer(text.includes('"stream":true'), response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, arrived: () => arrived, open: () => gate.resolve() }
}

/** `status`: 0 if no head arrived. */
interface Reply {
  readonly status: number
  readonly id: string
  readonly isComplete: boolean
}
const call = async (url: string, key: string, budget: Budget, stream = false): Promise<Reply> => {
  let [status, id] = [0, '']
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-tollgate-tags': `${budget}=all`,
      },
      body: bodyOf(stream),
    })
    status = response.status
    id = response.headers.get('x-request-id') ?? ''
    const text = await response.text()
    return { status, id, isComplete: status === 200 && (!stream || text.includes('[DONE]')) }
  } catch {
    return { status, id, isComplete: false }
  }
}

const WINDOWS = sql(
  'windows',
  `SELECT b.budget, w.used, w.balance, w.reserved FROM budget_windows b
   JOIN wallets w ON w.id = b.wallet ORDER BY b.budget`,
)
const OPEN = sql('open', "SELECT count(*) AS open FROM charges WHERE state = 'open'")
const SETTLED = sql('settled', "SELECT request FROM charges WHERE state = 'settled'")
/** Whether every window is within its limit. */
const isWithin = async (database: OpenDatabase): Promise<boolean> => {
  const rows = await database.read(WINDOWS, [])
  return rows.every(
    ({ budget, used, balance }) =>
      Number(balance) >= 0 && Number(used) <= LIMITS[String(budget) as Budget],
  )
}

/** One worker of the gateway, or the whole second gateway, which starts again. */
const killOne = async (trees: readonly Tree[]): Promise<void> => {
  const chance = createChance()
  const [first, second] = trees
  await (second ?? first)?.kill(second ? 'all' : 'worker', chance)
  second?.launch()
}

for (const store of Object.keys(STORES) as StoreName[])
  t.test(`budgets on ${store}: ${CALLS} calls at once and a kill pass no last unit`, async t => {
    const setup = await STORES[store]()
    t.teardown(() => setup.end())
    const upstream = await startUpstream(t)
    const count = store === 'postgres' ? 2 : 1
    const trees = Array.from({ length: count }, () =>
      createTree(routesTo(upstream.port), setup.url, {}),
    )
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

    const urls = trees.map(tree => tree.url())
    const calls = Array.from({ length: CALLS }, (_, at) =>
      call(urls[at % count] ?? '', key, BUDGETS[(at >> 1) % 2] ?? 'paid', (at >> 2) % 2 === 0),
    )
    // Most of the admitted calls are under way, and others are being refused.
    const admitted = 6 + Math.floor(createChance()() * 6)
    await eventually(() => upstream.arrived() >= admitted)
    await killOne(trees)
    t.ok(await isWithin(database), 'no budget is passed at the kill')
    upstream.open()
    const replies = await Promise.all(calls)
    // 503: its gateway ends, or the store takes longer than a call waits for it.
    t.same(
      replies.filter(({ status }) => ![0, 200, 429, 503].includes(status)),
      [],
      'each call is served, refused or cut off',
    )
    const complete = replies.filter(({ isComplete }) => isComplete)
    t.ok(complete.length > 0 && replies.some(({ status }) => status === 429))

    for (const tree of trees) await tree.untilRecovered()
    await untilReaped(setup, trees)
    await eventually(async () => (await database.read(OPEN, []))[0]?.open === 0)
    t.ok(await isWithin(database), 'no budget is passed after the recovery')
    const charged = new Set((await database.read(SETTLED, [])).map(({ request }) => request))
    t.same(
      complete.filter(({ id }) => !charged.has(id)),
      [],
      'each complete reply is charged',
    )

    // A hold of the killed process would leave a budget short of its end.
    for (const budget of BUDGETS)
      await eventually(async () => {
        const { status } = await call(trees[0]?.url() ?? '', key, budget)
        const rows = await database.read(WINDOWS, [])
        const rest = Number(rows.find(each => each.budget === budget)?.balance)
        return status === 429 && rest < MOST_OF_CALL[budget]
      })
    t.ok(await isWithin(database), 'no budget is passed by the last calls')
    t.comment(JSON.stringify(await database.read(WINDOWS, [])))
    t.same(await audit(database), [])
    for (const tree of trees) await tree.stop()
    const last = await setup.openLast(data)
    const rows = await last.database.read(WINDOWS, [])
    t.same(
      rows.map(({ reserved }) => Number(reserved)),
      [0, 0],
      'nothing is held',
    )
    await last.close()
  })
