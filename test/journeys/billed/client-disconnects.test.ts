/** Clients that disconnect: a stream cut at any byte is charged between what its client received
 *  and what its upstream wrote; a route that drains is charged by the upstream’s usage. The long
 *  form makes 2,000 cuts. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'
import { createChance, LONG, seed, shortOrLong } from '../../helpers/run-settings.ts'

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const USAGE = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 777 } })
/** 0.001 per word, in nanos. */
const PRICE = 1_000_000

interface SentCall {
  sentWords: number
  closedAt: number
}
type Script = (response: ServerResponse, stats: SentCall) => Promise<void>
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const writeWords = async (
  response: ServerResponse,
  stats: SentCall,
  limit: number,
  intervalMs: number,
) => {
  for (let remaining = limit; remaining > 0 && !response.destroyed; remaining--) {
    stats.sentWords++
    response.write(WORD)
    if (intervalMs > 0) await pause(intervalMs)
  }
}
const statsByRequest = new Map<string, SentCall>()
let script: Script = async () => {}
const upstream = await startHttpUpstream(t, async (request, response) => {
  const stats: SentCall = { sentWords: 0, closedAt: 0 }
  statsByRequest.set(String(request.headers['x-request-id']), stats)
  response.on('error', () => {})
  response.on('close', () => {
    stats.closedAt = performance.now()
  })
  request.resume()
  await once(request, 'end')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  await script(response, stats)
})
const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream}', connections: 100 } }
models:
  words: { to: up, price: { output: 1 / 1k }, output: 10000 }
routes:
  - { path: POST /cancel, auth: key, model: body, translate: openai-chat }
  - { path: POST /drain, auth: key, model: body, translate: openai-chat, hangup: { drain: 60s, bytes: 1MiB } }
  - { path: POST /short, auth: key, model: body, translate: openai-chat, hangup: { drain: 300ms, bytes: 1MiB } }
  - { path: POST /small, auth: key, model: body, translate: openai-chat, hangup: { drain: 60s, bytes: 4KiB } }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 10n ** 15n)
})
/** The charges of the account, after at least `count` of them were closed. */
const charges = async (count: number) => {
  for (;;) {
    const all = await rows(
      `SELECT request, state, amount, uncollected, estimated, usage FROM charges WHERE account = ${customer.account}`,
    )
    const closedCharges = all.filter(({ state }) => state !== 'open')
    if (closedCharges.length >= count)
      return new Map(closedCharges.map(row => [String(row.request), row]))
    await pause(20)
  }
}

/** Reads this many bytes of the response and resets the connection. Resolves with the words that
 *  arrived and the time of the reset. */
const readAndLeave = (path: string, bytes: number) =>
  new Promise<{ id: string; words: number; resetAt: number }>(resolve => {
    const body = JSON.stringify({ model: 'words', stream: true, messages: [] })
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${customer.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    let text = ''
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      const head = text.indexOf('\r\n\r\n')
      if (head < 0 || text.length - head - 4 < bytes) return
      const resetAt = performance.now()
      socket.removeAllListeners('data').on('error', () => {})
      socket.resetAndDestroy()
      const id = /x-request-id: (\S+)/.exec(text)?.[1] ?? ''
      // Chunks may split a word; only whole words count.
      const wholeText = text.slice(head).replaceAll(/\r\n[0-9a-f]+\r\n/g, '')
      resolve({ id, words: wholeText.split('"content":"word"').length - 1, resetAt })
    })
  })

t.test(
  'client disconnects: cuts at random bytes charge between received and written words',
  async t => {
    const chance = createChance()
    script = (response, own) => writeWords(response, own, 400, 1)
    const count = shortOrLong(60, 2_000)
    const cuts: Awaited<ReturnType<typeof readAndLeave>>[] = []
    const cutUntilEnough = async () => {
      while (cuts.length < count) {
        const at = Math.floor(chance() * 4_000)
        cuts.push(await readAndLeave('/cancel', at))
      }
    }
    await Promise.all(Array.from({ length: 12 }, cutUntilEnough))
    const chargeById = await charges(cuts.length)
    // Charges may close before the upstream notices: what stays open fails below.
    const isOpen = ({ id }: { readonly id: string }) => !statsByRequest.get(id)?.closedAt
    for (let waits = 0; waits < 500 && cuts.some(isOpen); waits++) await pause(20)
    const delays: number[] = []
    for (const { id, words, resetAt } of cuts) {
      const row = chargeById.get(id)
      const { sentWords = 0, closedAt = 0 } = statsByRequest.get(id) ?? {}
      const chargedWords = row?.state === 'settled' ? Number(row.amount) / PRICE : 0
      if (!(chargedWords >= words && chargedWords <= sentWords))
        t.fail(
          `seed ${seed()}, ${id}: ${words} arrived, ${sentWords} were written, ${chargedWords} charged`,
        )
      if (closedAt === 0) t.fail(`${id}: the upstream connection is still open`)
      delays.push(closedAt - resetAt)
    }
    delays.sort((one, other) => one - other)
    const p99 = delays[Math.floor(delays.length * 0.99)] ?? 0
    t.comment(
      `${cuts.length} cuts; the upstream connection closes after ${p99.toFixed(1)} ms (p99)`,
    )
    if (LONG) t.ok(p99 <= 100, 'the upstream connection closes within 100 ms')
  },
)

/** Makes one call that disconnects after three words, and returns its charge. */
const disconnectAfterThree = async (path: string) => {
  const before = (await charges(0)).size
  const { id, words } = await readAndLeave(path, WORD.length * 3)
  const row = (await charges(before + 1)).get(id)
  return { row, words, sentWords: statsByRequest.get(id)?.sentWords ?? 0 }
}
const checkCharge = (
  t: Test,
  { row, words, sentWords }: Awaited<ReturnType<typeof disconnectAfterThree>>,
) => {
  const chargedWords = Number(row?.amount) / PRICE
  t.match(row, { state: 'settled', estimated: 1 })
  t.ok(
    chargedWords >= words && chargedWords <= sentWords,
    `${words} <= ${chargedWords} <= ${sentWords}`,
  )
}

t.test('drain: charges the usage that the upstream reports after a disconnect', async t => {
  script = async (response, own) => {
    await writeWords(response, own, 40, 2)
    response.end(`${USAGE}data: [DONE]\n\n`)
  }
  const { row, sentWords } = await disconnectAfterThree('/drain')
  t.equal(sentWords, 40, 'the upstream wrote everything')
  t.match(row, { state: 'settled', amount: 777 * PRICE, uncollected: 0, estimated: 0 })
})

t.test('drain: ends at its time limit', async t => {
  script = (response, own) => writeWords(response, own, 100_000, 5)
  checkCharge(t, await disconnectAfterThree('/short'))
})

t.test('drain: ends at its byte limit', async t => {
  script = async (response, own) => {
    await writeWords(response, own, 100_000, 1)
  }
  const outcome = await disconnectAfterThree('/small')
  checkCharge(t, outcome)
  t.ok(outcome.sentWords < 10_000, 'reading stopped')
})

t.test('disconnected calls: their holds are released', async t => {
  const [wallet] = await rows(`SELECT balance, used FROM wallets WHERE id = ${customer.wallet}`)
  const all = [...(await charges(0)).values()]
  const sum = all.reduce((total, { amount }) => total + BigInt(Number(amount)), 0n)
  t.equal(BigInt(Number(wallet?.used)), sum)
})
