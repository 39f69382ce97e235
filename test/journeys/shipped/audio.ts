/** Requests, upstream answers and ledger rows for tests of the audio routes. */
import OpenAI, { toFile } from 'openai'
import type { Test } from 'tap'
import { text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { database, gateway, key, upstream } from './shipped-gateway.ts'

export const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
/** No byte of it is text, and each differs from its neighbours. */
export const sound = (bytes: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => (at * 151 + (at >> 8)) & 0xff))
export const recording = (bytes = 5_000): Promise<File> =>
  toFile(sound(bytes), 'größe.mp3', { type: 'audio/mpeg' })

/** An answer of any content type, whole and with its length. */
export const answers = (type: string, body: string | Uint8Array, status = '200 OK'): Step[] => [
  { do: 'body' },
  text(
    `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
  ),
  { do: 'send', bytes: body, piece: 1_000 },
]
/** An event in the form that OpenAI's streams of types have. */
export const event = (data: { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** What the upstream was sent, as it reads it. */
export const sent = async () => {
  const [body] = await upstream.seen('body', 'gp')
  const [request] = await upstream.seen('request', 'gp')
  const bytes = Buffer.from(body?.body.bytes ?? [])
  const type = request?.head.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  return { bytes, type: type ?? '', target: request?.head.target, head: request?.head.raw }
}

interface Charge {
  readonly state: unknown
  readonly amount: unknown
  readonly estimated: unknown
  readonly uncollected: unknown
  readonly usage: object
}
const CHARGE = {
  name: 'charge',
  text: 'SELECT state, amount, uncollected, estimated, usage FROM charges WHERE request = ?',
}
/** Of this request, once it is closed. */
const charge = async (request: string | null): Promise<Charge | undefined> => {
  for (let left = 2_000; left > 0; left--) {
    const [row] = await database.read(CHARGE, [request])
    if (row && row.state !== 'open')
      return { ...row, usage: JSON.parse(String(row.usage ?? '{}')) } as Charge
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return undefined
}
/** Settled to the nano, at these numbers. */
export const charged = async (
  t: Test,
  response: Pick<Response, 'headers'>,
  amount: number,
  usage: object,
  estimated = 0,
): Promise<void> => {
  const row = await charge(response.headers.get('x-request-id'))
  t.match(row, { state: 'settled', amount, uncollected: 0, estimated }, JSON.stringify(usage))
  t.same(row?.usage, usage)
}

const BOOKS = {
  name: 'books',
  text: `SELECT count(CASE WHEN state = 'open' THEN 1 END) AS open, sum(amount) AS paid FROM charges`,
}
/** All that was paid so far, once nothing is open. */
export const paid = async (): Promise<unknown> => {
  for (let left = 2_000; left > 0; left--) {
    const [row] = await database.read(BOOKS, [])
    if (row?.open === 0) return row.paid
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error('a charge stays open')
}
/** What its user catches. */
export const failed = (asked: Promise<unknown>): Promise<object> =>
  asked.then(
    () => ({ accepted: true }),
    error => error as object,
  )
