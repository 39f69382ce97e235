/** Requests, upstream answers and ledger rows for tests of the audio routes. */
import OpenAI, { toFile } from 'openai'
import type { Test } from 'tap'
import { text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { database, gateway, key, upstream } from './shipped-gateway.ts'

export const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
/** Bytes that are not text, each different from its neighbours. */
export const sound = (bytes: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => (at * 151 + (at >> 8)) & 0xff))
export const recording = (bytes = 5_000): Promise<File> =>
  toFile(sound(bytes), 'größe.mp3', { type: 'audio/mpeg' })

/** The steps of a complete answer with its content type and length. */
export const answers = (type: string, body: string | Uint8Array, status = '200 OK'): Step[] => [
  { do: 'body' },
  text(
    `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
  ),
  { do: 'send', bytes: body, piece: 1_000 },
]
/** An event in the form of OpenAI's typed streams. */
export const event = (data: { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** The request that the upstream received. */
export const sentRequest = async () => {
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
/** The charge of this request, after it is closed. */
const charge = async (request: string | null): Promise<Charge | undefined> => {
  for (let attempts = 2_000; attempts > 0; attempts--) {
    const [row] = await database.read(CHARGE, [request])
    if (row && row.state !== 'open')
      return { ...row, usage: JSON.parse(String(row.usage ?? '{}')) } as Charge
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return undefined
}
/** Expects that the request was settled with exactly this amount and usage. */
export const checkCharge = async (
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

const TOTALS = {
  name: 'books',
  text: `SELECT count(CASE WHEN state = 'open' THEN 1 END) AS open, sum(amount) AS paid FROM charges`,
}
/** The sum of all charges, after none is open. */
export const totalCharged = async (): Promise<unknown> => {
  for (let attempts = 2_000; attempts > 0; attempts--) {
    const [row] = await database.read(TOTALS, [])
    if (row?.open === 0) return row.paid
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error('a charge stays open')
}
/** The error that the call rejects with. */
export const errorOf = (call: Promise<unknown>): Promise<object> =>
  call.then(
    () => ({ accepted: true }),
    error => error as object,
  )
