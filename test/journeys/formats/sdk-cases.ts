/** Runs a case through the official SDK, and removes the usage chunk that the gateway requested
 *  for billing. */
import OpenAI from 'openai'
import { eventsIn } from '../../../plugins/formats/stream/sse.ts'
import type { Case, Outcome } from '../../fixtures/upstream/cases/case.ts'

export const SANDBOX = 'x-tollgate-sandbox'
export const NAME = 'gp-4.1'
export const openAiAt = (baseURL: string, apiKey: string): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 })

/** `user` names the case to the upstream: gateways pass it on unchanged. */
export const bodyOf = (one: Case) => ({
  model: NAME,
  messages: [{ role: 'user', content: 'Hello' }],
  ...one.request,
  user: one.name,
})

export interface SdkResult {
  readonly chunks: readonly unknown[]
  readonly sandbox: boolean
  readonly error?: {
    readonly status: unknown
    readonly code: unknown
    readonly message: string
    readonly retryAfter: unknown
  }
}
export const runCase = async (sdk: OpenAI, one: Case): Promise<SdkResult> => {
  const chunks: unknown[] = []
  let sandbox = false
  try {
    const { data, response } = await sdk.chat.completions
      .create(bodyOf(one) as unknown as OpenAI.ChatCompletionCreateParams)
      .withResponse()
    sandbox = response.headers.has(SANDBOX)
    if (Symbol.asyncIterator in data) for await (const chunk of data) chunks.push(chunk)
    else chunks.push(JSON.parse(JSON.stringify(data)))
    return { chunks, sandbox }
  } catch (error) {
    const { status, code, message, headers } = error as InstanceType<typeof OpenAI.APIError>
    return {
      chunks,
      sandbox,
      error: { status, code, message, retryAfter: headers?.get?.('retry-after') },
    }
  }
}

interface Choice {
  readonly index: number
  readonly finish_reason?: string | null
  readonly message?: Piece
  readonly delta?: Piece
}
interface Piece {
  readonly content?: string | null
  readonly refusal?: string | null
  readonly tool_calls?: readonly {
    readonly index?: number
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}
/** Assembles chunks or a whole answer as a user would. */
export const assemble = (chunks: readonly unknown[]): Outcome => {
  let text = ''
  let refusal = ''
  let finish: string | null = null
  let total = 0
  const calls: [string, string][] = []
  for (const chunk of chunks as { choices?: Choice[]; usage?: { total_tokens: number } | null }[]) {
    total = chunk.usage?.total_tokens ?? total
    for (const choice of chunk.choices ?? []) {
      if (choice.index !== 0) continue
      const piece = choice.message ?? choice.delta ?? {}
      text += piece.content ?? ''
      refusal += piece.refusal ?? ''
      finish = choice.finish_reason ?? finish
      for (const [at, call] of (piece.tool_calls ?? []).entries()) {
        const [name, text] = calls[call.index ?? at] ?? ['', '']
        const { name: more = '', arguments: further = '' } = call.function ?? {}
        calls[call.index ?? at] = [name + more, text + further]
      }
    }
  }
  return { text, refusal, finish, total, calls, chunks: chunks.length }
}

/** Whether the gateway requests usage that the client of this stream did not request. */
export const hidesUsage = ({ request }: Case): boolean => {
  const { stream, stream_options: options } = (request ?? {}) as {
    readonly stream?: boolean
    readonly stream_options?: { readonly include_usage?: boolean }
  }
  return stream === true && options?.include_usage !== true
}
export const isUsageChunk = (chunk: unknown): boolean => {
  const { choices, usage } = (chunk ?? {}) as {
    readonly choices?: unknown[]
    readonly usage?: unknown
  }
  return choices?.length === 0 && typeof usage === 'object' && usage !== null
}
/** Answers name the model that the client asked for; errors have no model. */
export const bodyWithAskedModel = ({ body, status = '200' }: Case): Buffer => {
  if (!status.startsWith('2')) return Buffer.from(body)
  const text = Buffer.from(body).toString('latin1')
  // The first one of a line; others are of tools and of moderation.
  const renamed = text
    .split(/(?<=[\r\n])/)
    .map(line => line.replace(/("model":\s*)"[^"]*"/, (_, key: string) => `${key}"${NAME}"`))
  return Buffer.from(renamed.join(''), 'latin1')
}
export const chunkWithAskedModel = (chunk: unknown): unknown =>
  typeof chunk === 'object' && chunk !== null && 'model' in chunk
    ? { ...chunk, model: NAME }
    : chunk
export const visibleBytes = (one: Case): Buffer => {
  const all = bodyWithAskedModel(one)
  const whole = all.subarray(0, all.length - Buffer.byteLength(one.behindEnd ?? ''))
  if (!hidesUsage(one)) return whole
  const events = eventsIn(whole).filter(
    ({ data }) => data === undefined || !data.startsWith('{') || !isUsageChunk(parseData(data)),
  )
  return events.length === 0
    ? whole
    : Buffer.concat(events.map(({ start, end }) => whole.subarray(start, end)))
}
const parseData = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
export const withUsageOption = (one: Case, body: string): string => {
  if (!hidesUsage(one)) return body
  const { stream_options: options } = (one.request ?? {}) as { readonly stream_options?: object }
  return options
    ? JSON.stringify({ ...JSON.parse(body), stream_options: { ...options, include_usage: true } })
    : `${body.slice(0, -1)},"stream_options":{"include_usage":true}}`
}
