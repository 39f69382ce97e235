/** HTTP/1.1 responses: the same in any pieces, never ambiguous, never more lenient than Node's
 *  parser. */
import { request } from 'node:http'
import { Duplex } from 'node:stream'
import t from 'tap'
import { ResponseParser } from '../../../engine/http-client/response-parser.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

interface ParsedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
  readonly isReusable: boolean
}
/** Parses these pieces and an orderly close; an error text where the response is not whole. */
const parse = (pieces: readonly Buffer[], method = 'GET'): ParsedResponse | string => {
  const parser = new ResponseParser()
  let head: Pick<ParsedResponse, 'status' | 'headers'> | undefined
  const body: Buffer[] = []
  let ends = 0
  parser.expect(method, {
    onHead(status, headers) {
      head = { status, headers: { ...headers } }
    },
    onData: chunk => void body.push(chunk),
    onEnd(tail) {
      ends++
      if (tail) body.push(tail)
    },
  })
  // One buffer for all reads, as a socket has: older bytes are behind the new ones.
  const shared = Buffer.alloc(65_536, '\r\n\r\n0\r\n\r\n')
  try {
    for (const piece of pieces) {
      piece.copy(shared)
      parser.read(shared, piece.length)
      shared.fill('\r\n\r\nHTTP/1.1 200 OK')
    }
  } catch (error) {
    return (error as Error).message
  }
  const { isReusable } = parser
  if (!parser.close() || !head || ends !== 1) return 'cut'
  return { ...head, body: Buffer.concat(body).toString('latin1'), isReusable }
}
const parseText = (text: string, method?: string) => parse([Buffer.from(text, 'latin1')], method)
const split = (text: string, at: readonly number[]): Buffer[] => {
  const bytes = Buffer.from(text, 'latin1')
  const ends = [...new Set(at.map(each => each % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...ends].map((from, n) => bytes.subarray(from, ends[n] ?? bytes.length))
}

const OK = 'HTTP/1.1 200 OK\r\n'
const GOOD: Readonly<Record<string, Partial<ParsedResponse>>> = {
  [`${OK}Content-Length: 2\r\nX-A: 1\r\n\r\nok`]: {
    status: 200,
    headers: { 'content-length': '2', 'x-a': '1' },
    body: 'ok',
    isReusable: true,
  },
  [`${OK}transfer-encoding: chunked\r\n\r\n3;a="b"\r\nabc\r\n0B\r\ndefghijklmn\r\n0\r\nx: y\r\nz:\r\n\r\n`]:
    { body: 'abcdefghijklmn', isReusable: true },
  [`${OK}Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n`]: { body: '', isReusable: true },
  [`${OK}\r\nto the end`]: { body: 'to the end', isReusable: false },
  [`HTTP/1.1 103 Early\r\nlink: a\r\n\r\nHTTP/1.1 100 \r\n\r\n${OK}content-length: 1\r\n\r\nx`]: {
    status: 200,
    headers: { 'content-length': '1' },
    body: 'x',
  },
  'HTTP/1.1 204 No Content\r\n\r\n': { status: 204, body: '', isReusable: true },
  'HTTP/1.1 304\r\netag: "a"\r\ncontent-length: 99\r\n\r\n': { status: 304, body: '' },
  'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx': { body: 'x', isReusable: false },
  'HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 1\r\n\r\nx': { isReusable: true },
  [`${OK}connection: close\r\ncontent-length: 1\r\n\r\nx`]: { body: 'x', isReusable: false },
  [`${OK}a:  b \t\r\nA:c\r\nset-cookie: \xe9\r\ncontent-length: 0\r\n\r\n`]: {
    headers: { a: ['b', 'c'], 'set-cookie': '\xe9', 'content-length': '0' },
  },
  [`${OK}a: b\r\nA: c\r\na: d\r\nkeep-alive: max=5\r\ncontent-length: 0\r\n\r\n`]: {
    headers: { a: ['b', 'c', 'd'], 'keep-alive': 'max=5', 'content-length': '0' },
  },
  [`${OK}__proto__: a\r\nconstructor: b\r\ncontent-length: 0\r\n\r\n`]: { body: '' },
}
t.test(
  'response parser: the same result in one piece, byte by byte, and in any pieces',
  async t => {
    for (const [text, expected] of Object.entries(GOOD)) {
      const parsedResponse = parseText(text)
      t.match(parsedResponse, expected, text)
      const bytes = split(
        text,
        Array.from(text, (_, at) => at),
      )
      t.same(parse(bytes), parsedResponse, 'byte by byte')
      const cuts = fc.array(fc.nat(500), { minLength: 1, maxLength: 8 })
      t.doesNotThrow(() =>
        fc.assert(
          fc.property(
            cuts,
            at => JSON.stringify(parse(split(text, at))) === JSON.stringify(parsedResponse),
          ),
          { numRuns: 100 },
        ),
      )
    }
  },
)

t.test(
  'response parser: trims spaces and tabs around header values, keeps those inside',
  async t => {
    const parsedResponse = parseText(
      `${OK}a: \t b \t c\t \t\r\nd:\t\r\ncontent-length: 0\r\n\r\n`,
    ) as ParsedResponse
    t.same({ ...parsedResponse.headers }, { a: 'b \t c', d: '', 'content-length': '0' })
  },
)

t.test('response parser: a response to HEAD has no body, also with a content-length', async t => {
  const parsedResponse = parseText(`${OK}content-length: 9\r\n\r\n`, 'HEAD')
  t.match(parsedResponse, { status: 200, body: '', isReusable: true })
})

t.test('response parser: ambiguous responses are malformed, cut ones are not whole', async t => {
  const length = `${OK}content-length: 2\r\n`
  const chunked = `${OK}transfer-encoding: chunked\r\n\r\n`
  const bad: Readonly<Record<string, RegExp>> = {
    'ICY 200 OK\r\n\r\n': /does not begin/,
    'HTTP/2 200\r\n\r\n': /does not begin/,
    'HTTP/1.1 20 OK\r\n\r\n': /does not begin/,
    'HTTP/1.1 600 OK\r\n\r\n': /does not begin/,
    'HTTP/1.1 2000 OK\r\n\r\n': /does not begin/,
    ' HTTP/1.1 200 OK\r\n\r\n': /does not begin/,
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n': /a 101 response/,
    'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n':
      /Transfer-Encoding in HTTP\/1.0/,
    [`${length}transfer-encoding: chunked\r\n\r\nok`]: /both/,
    [`${length}content-length: 2\r\n\r\nok`]: /Content-Length/,
    [`${length}content-length: 3\r\n\r\nok`]: /Content-Length/,
    [`${OK}content-length: +2\r\n\r\nok`]: /Content-Length/,
    [`${OK}content-length: 2, 2\r\n\r\nok`]: /Content-Length/,
    [`${OK}content-length: 0x2\r\n\r\nok`]: /Content-Length/,
    [`${OK}content-length: \r\n\r\nok`]: /Content-Length/,
    [`${OK}content-length: 9999999999999999\r\n\r\nok`]: /Content-Length/,
    [`${OK}transfer-encoding: gzip, chunked\r\n\r\n`]: /Transfer-Encoding/,
    [`${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`]: /Transfer-Encoding/,
    [`${OK}transfer-encoding: chunked\t\r\n\r\n`]: /Transfer-Encoding/,
    [`${OK}content-length: 2\t\r\n\r\nok`]: /Content-Length/,
    [`${OK}transfer-encoding:\x0bchunked\r\n\r\n`]: /control character/,
    [`${OK}a : b\r\n\r\n`]: /without a valid name/,
    [`${OK}: b\r\n\r\n`]: /without a valid name/,
    [`${OK}no colon\r\n\r\n`]: /without a valid name/,
    [`${OK}a: b\r\n folded\r\n\r\n`]: /without a valid name/,
    [`${OK}a: b\nc: d\r\n\r\n`]: /control character/,
    [`${OK}a: b\rc: d\r\n\r\n`]: /control character/,
    [`${OK}a: \0\r\n\r\n`]: /control character/,
    [`${OK}a: ${'x'.repeat(17_000)}\r\n\r\n`]: /head of more than/,
    [`${OK}a: ${'x'.repeat(17_000)}`]: /head of more than/,
    [`${length}\r\nok!`]: /after the end/,
    [`${chunked}0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`]: /after the end/,
    [`${chunked}\r\n`]: /without a size/,
    [`${chunked}zz\r\n`]: /without a size/,
    [`${chunked}-1\r\n`]: /without a size/,
    [`${chunked}12345678901234\r\n`]: /without a size/,
    [`${chunked}2\nok\r\n`]: /without a size/,
    [`${chunked}2\rok\r\n`]: /not where its size says/,
    [`${chunked}2\r\nok!\r\n`]: /not where its size says/,
    [`${chunked}2\r\nok\n0\r\n\r\n`]: /not where its size says/,
    [`${chunked}2;${'x'.repeat(5_000)}\r\nok\r\n`]: /extension without an end/,
    [`${chunked}2;a\nok\r\n`]: /extension without an end/,
    [`${chunked}0\r\nx: y\n\r\n\r\n`]: /control character/,
    [`${chunked}0\r\nx y\r\n\r\n`]: /without a valid name/,
    [`HTTP/1.1 103 Early\r\nlin k: a\r\n\r\n${length}\r\nok`]: /without a valid name/,
    'HTTP/1.1 304\r\ncontent-length: 9,9\r\n\r\n': /Content-Length/,
    [`${chunked}0\r\n${'x: y\r\n'.repeat(5_000)}\r\n`]: /trailers without an end/,
    [`${length}\r\no`]: /^cut$/,
    [`${chunked}2\r\nok\r\n`]: /^cut$/,
    [`${chunked}2\r\nok\r\n0\r\n`]: /^cut$/,
    'HTTP/1.1 200 OK\r\ncontent-len': /^cut$/,
    'HTTP/1.1 100 Continue\r\n\r\n': /^cut$/,
    [`HTTP/1.0 100 Continue\r\n\r\n${length}\r\nok`]: /interim/,
    [`HTTP/1.1 100 Continue\r\nconnection: close\r\n\r\n${length}\r\nok`]: /interim/,
    '': /^cut$/,
  }
  for (const [text, reason] of Object.entries(bad)) {
    t.match(parseText(text), reason, JSON.stringify(text.slice(0, 80)))
    const pieces = split(text, [7, 20, text.length - 3])
    t.equal(typeof parse(pieces), 'string', 'in pieces, too')
  }
})

/** Parses these bytes with Node's own client. */
const parseByNode = (bytes: Buffer): Promise<ParsedResponse | string> =>
  new Promise(resolve => {
    const socket = new Duplex({ read() {}, write: (_, __, callback) => callback() })
    const clientRequest = request({ createConnection: () => socket })
    clientRequest.on('error', error => resolve(error.message))
    clientRequest.on('response', response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', error => resolve(error.message))
      response.on('end', () => {
        if (!response.complete) return resolve('cut')
        const body = Buffer.concat(chunks).toString('latin1')
        resolve({ status: response.statusCode ?? 0, headers: {}, body, isReusable: true })
      })
    })
    clientRequest.on('close', () => setTimeout(resolve, 50, 'closed'))
    clientRequest.end()
    socket.push(bytes)
    socket.push(null)
  })

t.test(
  "response parser: accepts nothing that Node's parser refuses or reads otherwise",
  async t => {
    const texts = Object.keys(GOOD)
    const junk = fc.constantFrom('\r', '\n', '\r\n', '\0', ' ', ':', ';', '0', '5', 'f', ',', '\t')
    const mutation = fc.tuple(fc.constantFrom(...texts), fc.nat(400), fc.nat(3), junk)
    let acceptedCount = 0
    await fc.assert(
      fc.asyncProperty(mutation, async ([text, position, drop, insertion]) => {
        const at = position % text.length
        const mutant = text.slice(0, at) + insertion + text.slice(at + drop)
        const ours = parseText(mutant)
        if (typeof ours === 'string') return true
        acceptedCount++
        const nodeResult = await parseByNode(Buffer.from(mutant, 'latin1'))
        // The content of chunk extensions does not matter: they are dropped.
        if (typeof nodeResult === 'string' && /chunk extension/.test(nodeResult)) return true
        if (typeof nodeResult === 'string')
          throw new Error(`${JSON.stringify(mutant)}: ${nodeResult}`)
        return nodeResult.status === ours.status && nodeResult.body === ours.body
      }),
      { numRuns: shortOrLong(1_500, 100_000) },
    )
    t.ok(acceptedCount > 100, `${acceptedCount} changed responses were still valid`)
  },
)
