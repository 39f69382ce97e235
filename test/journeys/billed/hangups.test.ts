/** Clients that leave: a stream cut at any byte is paid for between what its client got and what its upstream wrote; a route
 *  that reads on is paid for to the token. The long form is 2,000 cuts. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { LONG, scaled } from '../../helpers/long.ts'
import { createChance, seed } from '../../helpers/seeded.ts'
import { begin, gateway, type Own, rows } from './stand.ts'

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const COUNTS = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 777 } })
/** 0.001 a word, in nanos. */
const PRICE = 1_000_000

interface Served {
  emitted: number
  closedAt: number
}
type Script = (response: ServerResponse, served: Served) => Promise<void>
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const words = async (response: ServerResponse, served: Served, most: number, every: number) => {
  for (let left = most; left > 0 && !response.destroyed; left--) {
    served.emitted++
    response.write(WORD)
    if (every > 0) await pause(every)
  }
}
const served = new Map<string, Served>()
let script: Script = async () => {}
const upstream = createServer(async (request, response) => {
  const own: Served = { emitted: 0, closedAt: 0 }
  served.set(String(request.headers['x-request-id']), own)
  response.on('error', () => {})
  response.on('close', () => {
    own.closedAt = performance.now()
  })
  request.resume()
  await once(request, 'end')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  await script(response, own)
})
upstream.listen(0, '127.0.0.1')
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})
const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}', connections: 100 } }
models:
  words: { to: up, price: { output: 1 / 1k }, output: 10000 }
routes:
  - { path: POST /cancel, auth: key, model: body, translate: openai-chat }
  - { path: POST /drain, auth: key, model: body, translate: openai-chat, hangup: { drain: 60s, bytes: 1MiB } }
  - { path: POST /short, auth: key, model: body, translate: openai-chat, hangup: { drain: 300ms, bytes: 1MiB } }
  - { path: POST /small, auth: key, model: body, translate: openai-chat, hangup: { drain: 60s, bytes: 4KiB } }
`
let own: Own
t.test('its routes and its money', async () => {
  own = await begin(ROUTES, 10n ** 15n)
})
/** When everything has come to its end. */
const charges = async (count: number) => {
  for (;;) {
    const all = await rows(
      `SELECT request, state, amount, uncollected, estimated, usage FROM charges WHERE account = ${own.account}`,
    )
    const done = all.filter(({ state }) => state !== 'open')
    if (done.length >= count) return new Map(done.map(row => [String(row.request), row]))
    await pause(20)
  }
}

/** Reads this many bytes of the reply and leaves. What arrived, and when it left. */
const readAndLeave = (path: string, bytes: number) =>
  new Promise<{ id: string; words: number; leftAt: number }>(resolve => {
    const body = JSON.stringify({ model: 'words', stream: true, messages: [] })
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${own.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    let text = ''
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      const head = text.indexOf('\r\n\r\n')
      if (head < 0 || text.length - head - 4 < bytes) return
      const leftAt = performance.now()
      socket.removeAllListeners('data').on('error', () => {})
      socket.resetAndDestroy()
      const id = /x-request-id: (\S+)/.exec(text)?.[1] ?? ''
      // Chunks may cut a word in two; what is whole is counted.
      const came = text.slice(head).replaceAll(/\r\n[0-9a-f]+\r\n/g, '')
      resolve({ id, words: came.split('"content":"word"').length - 1, leftAt })
    })
  })

t.test('cuts at random bytes', async t => {
  const chance = createChance()
  script = (response, own) => words(response, own, 400, 1)
  const count = scaled(60, 2_000)
  const cuts: Awaited<ReturnType<typeof readAndLeave>>[] = []
  const some = async () => {
    while (cuts.length < count) {
      const at = Math.floor(chance() * 4_000)
      cuts.push(await readAndLeave('/cancel', at))
    }
  }
  await Promise.all(Array.from({ length: 12 }, some))
  const paid = await charges(cuts.length)
  const took: number[] = []
  for (const { id, words, leftAt } of cuts) {
    const row = paid.get(id)
    const { emitted = 0, closedAt = 0 } = served.get(id) ?? {}
    const billed = row?.state === 'settled' ? Number(row.amount) / PRICE : 0
    if (!(billed >= words && billed <= emitted))
      t.fail(`seed ${seed()}, ${id}: ${words} arrived, ${emitted} were written, ${billed} charged`)
    if (closedAt === 0) t.fail(`${id}: the upstream still writes`)
    took.push(closedAt - leftAt)
  }
  took.sort((one, other) => one - other)
  const p99 = took[Math.floor(took.length * 0.99)] ?? 0
  t.comment(`${cuts.length} cuts; the upstream is let go after ${p99.toFixed(1)} ms (p99)`)
  if (LONG) t.ok(p99 <= 100, 'the upstream is let go within 100 ms')
})

/** One call that leaves after three words, and what became of it. */
const leave = async (path: string) => {
  const before = (await charges(0)).size
  const { id, words } = await readAndLeave(path, WORD.length * 3)
  const row = (await charges(before + 1)).get(id)
  return { row, words, emitted: served.get(id)?.emitted ?? 0 }
}
const between = (t: Test, { row, words, emitted }: Awaited<ReturnType<typeof leave>>) => {
  const billed = Number(row?.amount) / PRICE
  t.match(row, { state: 'settled', estimated: 1 })
  t.ok(billed >= words && billed <= emitted, `${words} <= ${billed} <= ${emitted}`)
}

t.test('a route that reads on charges what its upstream counted', async t => {
  script = async (response, own) => {
    await words(response, own, 40, 2)
    response.end(`${COUNTS}data: [DONE]\n\n`)
  }
  const { row, emitted } = await leave('/drain')
  t.equal(emitted, 40, 'it was read to its end')
  t.match(row, { state: 'settled', amount: 777 * PRICE, uncollected: 0, estimated: 0 })
})

t.test('for so long', async t => {
  script = (response, own) => words(response, own, 100_000, 5)
  between(t, await leave('/short'))
})

t.test('and so much', async t => {
  script = async (response, own) => {
    await words(response, own, 100_000, 1)
  }
  const left = await leave('/small')
  between(t, left)
  t.ok(left.emitted < 10_000, 'it is not read for ever')
})

t.test('what was held for them is free again', async t => {
  const [wallet] = await rows(`SELECT balance, used FROM wallets WHERE id = ${own.wallet}`)
  const all = [...(await charges(0)).values()]
  const sum = all.reduce((total, { amount }) => total + BigInt(Number(amount)), 0n)
  t.equal(BigInt(Number(wallet?.used)), sum)
})
