/** Starts gateways that share one allowance owner, as the workers of a machine do; headers name the
 *  caller and its usage. */
import type { Test } from 'tap'
import type { Json, Plugin, Stage } from '../../../engine/plugin.ts'
import { createAllowances } from '../../../engine/quota/allowance.ts'
import { createAllowanceOwner } from '../../../engine/quota/counter-owner.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import limit from '../../../plugins/limit/index.ts'
import { ACCOUNT, MODEL, USAGE } from '../../../plugins/slots.ts'
import { channelPair } from '../../helpers/gateway/machines.ts'
import { pluginOf, SILENT_LOG, startTestServer } from '../../helpers/gateway/test-server.ts'

/** `key: 7`, `account: 2` (else 1), `limits` of the key and `account-limits` as JSON, `model`. */
const caller: Stage = {
  async handle({ request, slots }, next) {
    const { key, account, limits, model, 'account-limits': own } = request.headers
    if (key || account)
      slots.set(ACCOUNT, {
        id: Number(account ?? 1),
        name: 'ann',
        role: 'customer',
        ...(own && { limits: JSON.parse(own) }),
        ...(key && {
          key: { id: Number(key), name: 'k', ...(limits && { limits: JSON.parse(limits) }) },
        }),
      })
    if (model) slots.set(MODEL, { asked: model, entry: model })
    await next()
  },
}

export interface Gateways {
  readonly urls: readonly string[]
  /** Answers the waiting requests to /held. */
  answerWaiting(): void
  readonly waitingCount: number
  /** Milliseconds by which the clock of owner and workers is ahead. */
  ahead: number
}
/** Header `used`: meters as JSON, reported when the answer ends; header `fail`: the status. */
const answerStage = (waiting: (() => void)[]): Stage => ({
  answers: true,
  async handle(exchange) {
    const { used: meters, estimated, fail } = exchange.request.headers
    if (exchange.request.path === '/held')
      await new Promise<void>(resolve => {
        waiting.push(resolve)
        exchange.signal.addEventListener('abort', () => resolve())
      })
    if (meters)
      exchange.slots.set(USAGE, { meters: JSON.parse(meters), estimated: estimated !== undefined })
    exchange.answer(Number(fail ?? 200), { ok: true }, { 'x-ratelimit-limit-requests': 'theirs' })
  },
})

export const startLimited = async (
  t: Test,
  options: Json,
  { section = {} as Json, errors = 'openai' } = {},
): Promise<Gateways> => {
  const here = { ahead: 0 }
  const now = (): number => Math.floor(performance.now()) + here.ahead
  const owner = createAllowanceOwner({ now })
  const waiting: (() => void)[] = []
  const routes = ['GET /x', 'POST /x', 'GET /y', 'GET /held'].map(path => ({
    path,
    limit: options,
    errors,
  }))
  const urls: string[] = []
  for (const worker of [1, 2]) {
    const [near, far] = channelPair()
    owner.attach(worker, far)
    const set = {
      errors: errorsPlugin as Plugin,
      caller: pluginOf(caller),
      limit: limit as Plugin,
      answers: pluginOf(answerStage(waiting)),
    }
    const document = { routes, limits: section } as Parameters<typeof startTestServer>[2]
    const more = { allowances: createAllowances(near, { now }) }
    urls.push((await startTestServer(t, set, document, SILENT_LOG, more)).url)
  }
  return {
    urls,
    answerWaiting: () => {
      for (const each of waiting.splice(0)) each()
    },
    get waitingCount() {
      return waiting.length
    },
    get ahead() {
      return here.ahead
    },
    set ahead(ms) {
      here.ahead = ms
    },
  }
}

export interface LimitReply {
  readonly status: number
  readonly headers: Headers
  readonly retryAfter: string | null
  readonly body: {
    readonly error?: { readonly code: string; readonly type: string; readonly message: string }
  }
}
export const getReply = async (
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<LimitReply> => {
  const method = body === undefined ? 'GET' : 'POST'
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
  const { status, headers: replyHeaders } = response
  const json = (await response.json()) as LimitReply['body']
  return { status, headers: replyHeaders, retryAfter: replyHeaders.get('retry-after'), body: json }
}
export const sendMany = (urls: readonly string[], path: string, count: number, key: string) =>
  Promise.all(
    Array.from({ length: count }, (_, at) => getReply(`${urls[at % urls.length]}${path}`, { key })),
  )
export const countStatus = (all: readonly LimitReply[], status: number): number =>
  all.filter(reply => reply.status === status).length
