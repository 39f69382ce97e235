/** One attempt over a real connection: the tail, early responses, back-pressure, streamed bodies,
 *  aborts. */
import type { Bytes, Fault } from '../../../engine/plugin.ts'
import {
  CLIENT_GONE,
  LONG_DEADLINES,
  OK,
  readText,
  recordBody,
  startByteUpstream,
  testClients,
} from '../../helpers/gateway/direct-client.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'
testClients(
  'transport: the chunk that completes the content-length is the tail',
  async (t, openOrigin) => {
    const upstream = await startByteUpstream(t, socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n')
      setImmediate(() => {
        socket.write('abc')
        setTimeout(() => socket.write('def'), 5)
      })
      return undefined
    })
    const { ask } = openOrigin(t, upstream.url)
    const { log, over } = recordBody(await ask())
    await over
    t.match(log.at(-1), /^end .*f$/, 'the last byte is never written before the end')
    t.equal(log.join('').replace('end ', ''), 'abcdef')
  },
)

testClients(
  'transport: an answer before its request fails it, and nothing is sent',
  async (t, openOrigin) => {
    let isEarly = true
    const answer = (): string => OK
    const upstream = await startByteUpstream(t, answer, socket => isEarly && socket.write(OK))
    const { ask } = openOrigin(t, upstream.url)
    await t.rejects(ask(), { code: 'TARGET_UNREACHABLE' })
    t.equal(upstream.requests.length, 0)
    isEarly = false
    t.equal(await readText(await ask()), 'ok')
    t.equal(upstream.requests.length, 1)
  },
)

const CHUNKS = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'
testClients(
  'transport: without a length the last bytes are the tail if their end arrived with them',
  async (t, openOrigin) => {
    let writeEnd = (): void => {}
    const upstream = await startByteUpstream(t, (socket, request) => {
      if (request.startsWith('GET /whole')) return `${CHUNKS}0\r\n\r\n`
      writeEnd = () => void socket.write('0\r\n\r\n')
      return CHUNKS
    })
    const { ask } = openOrigin(t, upstream.url)
    const whole = recordBody(await ask({ path: '/whole' }))
    await whole.over
    t.same(whole.log, ['end abc'])
    const late = recordBody(await ask({ path: '/late' }))
    await eventually(() => late.log.length > 0)
    writeEnd()
    await late.over
    t.same(late.log, ['abc', 'end '], 'passed on at once where the end came later')
  },
)

testClients('transport: interim responses are skipped', async (t, openOrigin) => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
  const upstream = await startByteUpstream(t, () => hints + OK)
  const { ask } = openOrigin(t, upstream.url)
  const answer = await ask()
  t.equal(answer.status, 200)
  t.notOk('link' in answer.headers)
  t.equal(await readText(answer), 'ok')
})

testClients('transport: responses without a body have no tail', async (t, openOrigin) => {
  const replies = [
    'HTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  ]
  const upstream = await startByteUpstream(t, (_, __, count) => replies[count - 1])
  const { ask } = openOrigin(t, upstream.url, 1)
  for (const status of [204, 304, 200]) {
    const answer = await ask()
    t.equal(answer.status, status)
    t.equal(await readText(answer), '')
  }
})

testClients('transport: buffers a few early chunks, then pauses', async (t, openOrigin) => {
  const chunk = Buffer.alloc(65_536, 'x')
  const total = 400
  let writtenChunks = 0
  const upstream = await startByteUpstream(t, socket => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total * chunk.length}\r\n\r\n`)
    const writeMore = (): void => {
      while (writtenChunks < total) {
        writtenChunks++
        if (!socket.write(chunk)) return void socket.once('drain', writeMore)
      }
    }
    writeMore()
    return undefined
  })
  const { ask } = openOrigin(t, upstream.url)
  const answer = await ask()
  let before = -1
  while (before !== writtenChunks) {
    before = writtenChunks
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.ok(writtenChunks < total, `the upstream could write ${writtenChunks} of ${total}`)
  t.equal((await answer.bytes(total * chunk.length)).length, total * chunk.length)
})

testClients(
  'transport: a paused reader is not an inactivity of the upstream',
  async (t, openOrigin) => {
    const upstream = await startByteUpstream(t, socket => {
      socket.write(`${HEAD}hello`)
      return undefined
    })
    const { origin, ask } = openOrigin(t, upstream.url)
    const deadlines = { ...LONG_DEADLINES, idle: 20 }
    const answer = await ask({ deadlines })
    const log: string[] = []
    const flow = answer.pipeTo({
      write: part => void log.push(Buffer.from(part).toString()),
      end: () => void log.push('end'),
      fail: reason => void log.push(reason.code),
    })
    flow.pause()
    await new Promise(resolve => setTimeout(resolve, 250))
    t.same(log, ['hello'])
    flow.resume()
    while (log.length < 2) await new Promise(resolve => setTimeout(resolve, 10))
    t.same(log, ['hello', 'TARGET_STALLED'], 'inactivity counts once the reader resumes')
    t.equal(origin.busy, 0)
    flow.pause()
    flow.resume()
    t.equal(log.length, 2, 'nothing follows the fault')
  },
)

const stream = async function* (...parts: string[]): AsyncGenerator<Bytes> {
  for (const part of parts) yield Buffer.from(part)
}
testClients('transport: streams a request body', async (t, openOrigin) => {
  const upstream = await startByteUpstream(t, (_, request) =>
    request.includes('0\r\n') ? OK : undefined,
  )
  const { ask } = openOrigin(t, upstream.url)
  const answer = await ask({ method: 'POST', body: stream('one', 'two') })
  t.equal(await readText(answer), 'ok')
})

testClients(
  'transport: an attempt aborted while it waits for a connection is never sent',
  async (t, openOrigin) => {
    let answer = (): void => {}
    const upstream = await startByteUpstream(t, (socket, request) => {
      if (!request.startsWith('GET /first')) return OK
      answer = () => void socket.write(OK)
      return undefined
    })
    const { origin, ask } = openOrigin(t, upstream.url, 1)
    const first = ask({ path: '/first' })
    while (upstream.requests.length === 0) await new Promise(resolve => setImmediate(resolve))
    let abortAttempt = (_: Fault): void => {}
    const queuedReply = ask({ path: '/queued' }, abort => {
      abortAttempt = abort
    })
    abortAttempt(CLIENT_GONE)
    await t.rejects(queuedReply, CLIENT_GONE)
    const last = ask({ path: '/last' })
    answer()
    t.equal(await readText(await first), 'ok')
    t.equal(await readText(await last), 'ok')
    t.notMatch(upstream.requests.join(), /queued/)
    t.equal(origin.busy, 0)
  },
)

testClients(
  'transport: aborts before it is connected, before the head, in the body',
  async (t, openOrigin) => {
    const upstream = await startByteUpstream(t, (_, request) =>
      request.startsWith('GET /ok')
        ? OK
        : request.startsWith('GET /body')
          ? `${HEAD}half`
          : undefined,
    )
    const { origin, ask } = openOrigin(t, upstream.url, 1)
    await t.rejects(
      ask({}, abort => queueMicrotask(() => abort(CLIENT_GONE))),
      CLIENT_GONE,
    )
    t.equal(origin.busy, 0)
    await t.rejects(
      ask({}, abort => {
        const abortWhenSent = (): void => {
          if (upstream.requests.length > 0) abort(CLIENT_GONE)
          else setImmediate(abortWhenSent)
        }
        abortWhenSent()
      }),
      CLIENT_GONE,
    )
    let abortAttempt = (_: Fault): void => {}
    const answer = await ask({ path: '/body' }, abort => {
      abortAttempt = abort
    })
    const { log, over } = recordBody(answer)
    abortAttempt(CLIENT_GONE)
    abortAttempt({ ...CLIENT_GONE, code: 'AGAIN' })
    await over
    t.same(log.at(-1), 'fail GONE')
    t.equal(origin.busy, 0)
    t.equal(await readText(await ask({ path: '/ok' })), 'ok')
    t.equal(
      origin.health.isAvailable(performance.now()),
      true,
      'aborts are not failures of the upstream',
    )
  },
)
