/** The order of commits and bytes: the two durable gates of a reply. */
import t from 'tap'
import type { Fault, Plugin, Stage, Statement } from '../../../engine/plugin.ts'
import { type Core, plugin, startCore, startUpstream } from '../../helpers/core.ts'

const statement = (name: string, value: string | number = ''): Statement => ({
  sql: { name, text: '' },
  values: [value],
})
const storeFault: Fault = {
  code: 'STORE_UNAVAILABLE',
  message: 'store unavailable',
  status: 503,
  expose: true,
}

/** A small meter: a hold first, a settlement with the tail, a release after a fault. */
const meter: Stage = {
  async handle(exchange, next) {
    exchange.writes.add(statement('hold'))
    exchange.writes.setCrashStatements(statement('settle', 'so far'))
    try {
      await next()
    } catch (error) {
      exchange.writes.add(statement('release'))
      throw error
    }
    let chunkCount = 0
    exchange.reply.through({
      write(chunk, out) {
        chunkCount++
        out.write(chunk)
      },
      end(tail, out) {
        exchange.writes.add(statement('settle', chunkCount))
        out.end(tail)
      },
      fail(fault, out) {
        exchange.writes.add(statement('settle', `cut ${chunkCount}`))
        out.fail(fault)
      },
    })
  },
}
const errorEvents: Stage = {
  fail: fault => ({
    status: fault.status,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ code: fault.code })),
    event: Buffer.from(`data: {"code":"${fault.code}"}\n\n`),
  }),
}

const upstreamOf = (t: Tap): Promise<string> =>
  startUpstream(t, (incoming, response) => {
    incoming.resume()
    if (incoming.url === '/plain') return void response.end('{"usage":7}')
    if (incoming.url === '/bad') return void response.writeHead(500).end('no')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let n = 0
    const timer = setInterval(() => {
      if (++n <= 4) response.write(`data: ${n}\n\n`)
      else if (incoming.url === '/dies') response.destroy()
      else if (incoming.url === '/endless') response.write('data: more\n\n')
      else response.end('data: [DONE]\n\n')
    }, 3)
    response.on('close', () => clearInterval(timer))
  })
type Tap = Parameters<typeof startUpstream>[0]

const routes = (upstream: string, more: object = {}) => ({
  upstreams: { a: { url: upstream }, dead: { url: 'http://127.0.0.1:1' } },
  routes: ['/plain', '/stream', '/dies', '/bad', '/endless'].map(path => ({
    path: `POST ${path}`,
    upstream: 'a',
    ...more,
  })),
})
const ask = async (core: Core, path: string, init: RequestInit = {}) => {
  core.store.lines.length = 0
  const reply = await fetch(core.url + path, { method: 'POST', body: '{}', ...init })
  const parts: string[] = []
  let isCut = false
  try {
    for await (const chunk of reply.body ?? []) {
      parts.push(Buffer.from(chunk).toString())
      core.store.lines.push(`client ${parts.at(-1)?.trim().split('\n').at(-1)}`)
    }
  } catch {
    isCut = true
  }
  return { status: reply.status, headers: reply.headers, text: parts.join(''), isCut }
}
const plugins: Record<string, Plugin> = { errors: plugin(errorEvents), meter: plugin(meter) }

t.test('gates: a plain reply waits for hold and settlement before its only byte', async t => {
  const core = await startCore(t, plugins, routes(await upstreamOf(t)))
  const { status, headers, text } = await ask(core, '/plain')
  t.equal(status, 200)
  t.equal(text, '{"usage":7}')
  t.match(headers.get('x-request-id'), /^req_[0-9a-f]{32}$/)
  t.equal(headers.get('x-tollgate-version'), '1')
  t.same(
    core.store.lines,
    [
      'will req settle(so far)',
      'begin hold()',
      'durable hold()',
      'begin settle(0)',
      'durable settle(0)',
      'client {"usage":7}',
      'will req ',
    ].sort((a, b) => core.store.lines.indexOf(a) - core.store.lines.indexOf(b)),
  )
  t.ok(
    core.store.lines.indexOf('durable settle(0)') < core.store.lines.indexOf('client {"usage":7}'),
  )
})

t.test(
  'gates: a stream waits for the hold before its first byte, for the settlement before its end',
  async t => {
    const core = await startCore(t, plugins, routes(await upstreamOf(t)))
    core.store.delay = 30
    const { text } = await ask(core, '/stream')
    const { lines } = core.store
    t.match(text, /data: \[DONE\]/)
    t.ok(lines.indexOf('durable hold()') < lines.findIndex(line => line.startsWith('client')))
    t.ok(lines.some(line => line.startsWith('durable settle')))
  },
)

t.test('gates: an upstream that fails midway is settled, then reported as an event', async t => {
  const core = await startCore(t, plugins, routes(await upstreamOf(t)))
  const { text } = await ask(core, '/dies')
  t.match(text, /"code":"TARGET_CUT"/)
  const settledAt = core.store.lines.findIndex(line => line.startsWith('durable settle(cut'))
  const reportedAt = core.store.lines.findIndex(line => line.includes('TARGET_CUT'))
  t.ok(settledAt >= 0 && settledAt < reportedAt)
})

t.test(
  'gates: a settlement that fails is a 503 for a plain reply, an event for a stream',
  async t => {
    const core = await startCore(t, plugins, routes(await upstreamOf(t)))
    core.store.refuse = names => (names.includes('settle') ? storeFault : undefined)
    t.equal((await ask(core, '/plain')).status, 503)
    const { text } = await ask(core, '/stream')
    t.match(text, /STORE_UNAVAILABLE/)
  },
)

t.test('gates: a hold that fails aborts the open upstream request', async t => {
  let onClose: () => void = () => {}
  const upstreamClosed = new Promise<void>(resolve => {
    onClose = resolve
  })
  const upstream = await startUpstream(t, (_, response) => {
    response.on('close', () => onClose())
  })
  const core = await startCore(t, plugins, routes(upstream))
  core.store.refuse = names => (names.includes('hold') ? storeFault : undefined)
  t.equal((await ask(core, '/plain')).status, 503, 'before the upstream request is sent')
  core.store.delay = 50
  t.equal((await ask(core, '/plain')).status, 503, 'after it was sent')
  await upstreamClosed
  t.pass('the upstream connection is closed')
})

t.test('gates: retries happen before the first byte only, with one hold', async t => {
  const upstream = await upstreamOf(t)
  const core = await startCore(t, plugins, routes(upstream, { upstream: ['dead', 'a'] }))
  const { status } = await ask(core, '/plain')
  t.equal(status, 200)
  t.equal(core.store.lines.filter(line => line === 'begin hold()').length, 1)
  const cutReply = await ask(core, '/dies')
  t.equal(cutReply.text.match(/data: 1\n/g)?.length, 1, 'the stream is not restarted')
})

t.test('gates: the refusal of the last target is passed through', async t => {
  const core = await startCore(t, plugins, routes(await upstreamOf(t)))
  const { status, text } = await ask(core, '/bad')
  t.equal(status, 500)
  t.equal(text, 'no')
})

t.test('gates: a client that leaves aborts the upstream and is settled', async t => {
  const core = await startCore(t, plugins, routes(await upstreamOf(t)))
  const controller = new AbortController()
  const reply = await fetch(`${core.url}/endless`, {
    method: 'POST',
    body: '{}',
    signal: controller.signal,
  })
  await reply.body?.getReader().read()
  controller.abort()
  while (core.server.openRequests > 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(core.store.lines.some(line => line.startsWith('durable settle(cut')))
})

t.test('gates: a cut for lack of money is settled once and reported as an event', async t => {
  const cutter: Stage = {
    async handle(exchange, next) {
      await next()
      let n = 0
      exchange.reply.through({
        write(chunk, out) {
          if (++n === 3)
            exchange.cut({ code: 'INSUFFICIENT', message: 'used up', status: 402, expose: true })
          else out.write(chunk)
        },
      })
    },
  }
  const set = { errors: plugin(errorEvents), cutter: plugin(cutter), meter: plugin(meter) }
  const core = await startCore(t, set, routes(await upstreamOf(t)))
  const { text } = await ask(core, '/stream')
  t.match(text, /INSUFFICIENT/)
  t.notMatch(text, /DONE/)
  t.equal(core.store.lines.filter(line => line.startsWith('begin settle')).length, 1)
})

t.test(
  "gates: a task's intent is written with the hold in one transaction, before the reply",
  async t => {
    const task: Stage = {
      answers: true,
      async handle(exchange) {
        exchange.writes.add(statement('intent'))
        await exchange.writes.commit()
        exchange.answer(200, { task_id: exchange.id })
      },
    }
    const core = await startCore(
      t,
      { errors: plugin(errorEvents), meter: plugin(meter), task: plugin(task) },
      { routes: [{ path: 'POST /plain' }] },
    )
    const { text } = await ask(core, '/plain')
    t.match(text, /task_id/)
    t.ok(core.store.lines.includes('durable hold() intent()'))
  },
)
