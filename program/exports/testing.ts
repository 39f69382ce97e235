/** `tollgate/testing`: runs one plugin alone: a handmade host, exchange and attempt, without
 *  server, router or dispatch. */
import { readFileSync } from 'node:fs'
import { locate, PROGRAM } from '../../engine/config/plugins/program.ts'
import type {
  Attempt,
  Body,
  Bytes,
  Document,
  Fault,
  Headers,
  Host,
  Json,
  Next,
  Reply,
  Route,
  Target,
  UpstreamView,
} from '../../engine/plugin.ts'
import { BodyJson } from '../../engine/request/body-json.ts'
import { Call, toReply } from '../../engine/request/exchange.ts'
import { openRequestLog } from '../../engine/request-log/reader.ts'
import { FilteredReply } from '../../engine/response/filters.ts'
import type { Source } from '../../engine/response/source.ts'
import type { Part } from '../../plugins/formats/hub/answer.ts'
import { Collector, partsOf } from '../../plugins/formats/hub/answer-parts.ts'
import { textOfPrompt } from '../../plugins/formats/hub/text.ts'
import {
  openListeners,
  PROMPT_CHAIN,
  partChainOf,
} from '../../plugins/translate/listeners/chains.ts'

export interface FakeHost extends Host {
  /** Log lines, as `level text`. */
  readonly logLines: string[]
  /** Keys that `share` created, in order. */
  readonly createdKeys: string[]
}
export interface HostOptions {
  readonly upstreams?: Readonly<Record<string, UpstreamView>>
  readonly document?: Document
  readonly files?: Readonly<Record<string, string>>
  readonly route?: Partial<Route>
  readonly hash?: string
}

const absent = (): never => {
  throw new Error('not lent in this test')
}
const GATEWAY: FakeHost['gateway'] = {
  routes: [],
  status: absent,
  readings: absent,
  history: absent,
  files: absent,
  diff: absent,
  reload: absent,
  rollback: absent,
  check: absent,
  save: absent,
  edit: absent,
  schema: absent,
}
const OUTSIDE = { send: absent, checkUrl: absent, request: absent, mail: absent }
const MEMBERSHIP: FakeHost['membership'] = {
  name: absent,
  isCurrent: absent,
  reportExpelled: absent,
  leaving: new AbortController().signal,
  listen() {},
}

/** Reads files of the product if a test gives none. */
export const fakeHost = (options: HostOptions = {}): FakeHost => {
  const { upstreams = {}, document = {}, files = {}, route = {}, hash = 'hash' } = options
  const logLines: string[] = []
  const createdKeys: string[] = []
  const shared = new Map<string, object>()
  const write = (level: string) => (_: object, text?: string) =>
    void logLines.push(`${level} ${text}`)
  return {
    logLines,
    createdKeys,
    formats: {},
    upstreams,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    metrics: { count() {}, time() {}, gauge() {} },
    gateway: GATEWAY,
    requests: openRequestLog('/nonexistent'),
    database: { write: absent, read: absent, pages: absent, now: absent },
    config: { version: 1, hash, isTrial: true },
    memo: (_: string, make: () => string) => make(),
    route: {
      name: 'chat',
      method: 'POST',
      pattern: '/',
      has: () => true,
      option: () => undefined,
      ...route,
    },
    section: <T>(name: string) => (document[name] ?? {}) as T,
    file: path => files[path] ?? readFileSync(locate(PROGRAM, path), 'utf8'),
    share(key, version, create) {
      const name = `${key} ${version}`
      const value = shared.get(name) ?? create(undefined)
      if (!shared.has(name)) createdKeys.push(key)
      shared.set(name, value)
      return value as ReturnType<typeof create>
    },
    ...OUTSIDE,
    match: absent,
    run: absent,
    serve: absent,
    job: absent,
    allowance: absent,
    pin: absent,
    pins: absent,
    folder: absent,
    secret: absent,
    url: absent,
    isLocal: absent,
    membership: MEMBERSHIP,
  }
}

export interface RequestOptions {
  readonly method?: string
  readonly path?: string
  readonly search?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly params?: Readonly<Record<string, string>>
  /** Values other than text and bytes are sent as JSON. */
  readonly body?: Json | Bytes
  readonly targets?: readonly Target[]
  readonly route?: string
}

export const fakeExchange = (options: RequestOptions = {}): Call => {
  const { method = 'POST', path = '/', search = '', headers = {}, params = {} } = options
  const whole = bytesOf(options.body)
  const route = {
    name: options.route ?? 'chat',
    method,
    pattern: path,
    has: () => true,
    option: () => undefined,
  }
  const json = new BodyJson({ whole })
  return new Call({
    id: `req_${'0123456789abcdef'.repeat(2)}`,
    requestId: 'theirs',
    trace: '0'.repeat(32),
    kind: 'http',
    route,
    params,
    targets: options.targets ?? [],
    hangup: 'cancel',
    store: { write: async () => {} },
    request: {
      method,
      path,
      search,
      headers,
      body: { whole, exists: true, isStreamed: false, unread: false, prepare: () => undefined },
      query: new URLSearchParams(search),
      client: { address: '127.0.0.1', encrypted: false },
      json: async () => json.whole(),
      parsed: undefined,
      outline: async () => json.outline(),
      outlined: undefined,
      cut() {
        const outlined = new BodyJson({ whole })
        outlined.outline()
        return outlined.cut()
      },
      setJson: value => json.set(value),
      bytes: async () => whole,
      stop() {},
      async *stream() {
        yield whole
      },
    },
  })
}
const bytesOf = (body: Json | Bytes | undefined): Bytes => {
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? ''))
}

export interface UpstreamReply {
  readonly status?: number
  readonly headers?: Headers
  /** Pushed one by one, before `dies`. */
  readonly chunks?: readonly (string | Bytes)[]
  readonly body?: string
  readonly dies?: Fault
}
export interface FakeAttempt extends Attempt {
  readonly reply: FilteredReply
  /** The statuses that were given to `recordFailure`. */
  readonly failures: readonly number[]
  /** Acts as the target: `next()` of the innermost ring. */
  readonly next: Next
}

export const fakeAttempt = (
  exchange: Call,
  target: Target,
  upstreamReply: UpstreamReply = {},
  path: string = exchange.request.path,
): FakeAttempt => {
  let reply: FilteredReply | undefined
  const failures: number[] = []
  return {
    exchange,
    target,
    number: 1,
    isLast: true,
    deadlines: { first_content: Number.POSITIVE_INFINITY, preamble: 5_000 },
    failures,
    recordFailure(status) {
      if (status !== undefined) failures.push(status)
    },
    request: {
      method: 'POST',
      path: exchange.request.search ? `${path}?${exchange.request.search}` : path,
      headers: {},
      body: exchange.request.body.whole,
    },
    get reply(): FilteredReply {
      if (!reply) throw new Error('no reply yet')
      return reply
    },
    answer(status, body, headers = {}): Reply {
      reply = toReply(status, body as Body | Json, headers)
      return reply
    },
    next: async () => {
      const { status = 200, headers = {}, body, chunks, dies } = upstreamReply
      const whole = body === undefined ? undefined : Buffer.from(body)
      const source = chunks && sourceOf(chunks, dies)
      reply = new FilteredReply(status, { ...headers }, whole, source)
      exchange.setReply(reply)
    },
  }
}
/** Pushes a body as an upstream does: every chunk at once, then its end or its fault. */
export const sourceOf = (chunks: Iterable<string | Bytes>, dies?: Fault): Source => ({
  start(out) {
    for (const chunk of chunks) out.write(Buffer.from(chunk))
    if (dies) out.fail(dies)
    else out.end()
  },
  pause() {},
  resume() {},
  abort() {},
})

export interface ReadReply {
  /** All bytes that the client receives. */
  readonly text: string
  readonly bytes: Buffer
  /** The bytes held back until the end. */
  readonly tail: string | undefined
  readonly fault: Fault | undefined
}
/** Reads a reply to its end. */
export const readReply = (reply: FilteredReply): Promise<ReadReply> =>
  new Promise(resolve => {
    const parts: Bytes[] = []
    const over = (tail: Bytes | undefined, fault: Fault | undefined): void => {
      const bytes = Buffer.concat(tail ? [...parts, tail] : parts)
      resolve({ bytes, text: bytes.toString(), tail: tail && Buffer.from(tail).toString(), fault })
    }
    reply.pipeTo({
      write: chunk => void parts.push(chunk),
      end: (tail, reason) => {
        if (reason) reply.endFault = reason
        over(tail, undefined)
      },
      fail: reason => over(undefined, reason),
    })
  })

/** Sets PROMPT and PARTS, for stages that listen to them. Call it before `handle` of the stage. */
export const fakeTexts = (exchange: Call) => {
  openListeners(exchange)
  return {
    /** The text of this prompt as targets get it. */
    async prompt(text: string): Promise<string> {
      const turns = [{ role: 'user', content: [{ type: 'text', text }] }] as const
      const settings = { tools: [], settings: {}, stream: false, includeUsage: false, body: {} }
      return textOfPrompt(await exchange.slots.need(PROMPT_CHAIN).run({ turns, ...settings }))
    },
    /** The text that the client gets of an answer in these pieces. */
    answer(...pieces: readonly string[]): string {
      const collector = new Collector()
      const collect = (part: Part): void => collector.add(part)
      const send = partChainOf(exchange)?.compose(collect) ?? collect
      const content = [{ type: 'text', text: '' }] as const
      for (const part of partsOf({ choices: [{ content, stop: { reason: 'end' } }] })) {
        if (part.type === 'close')
          for (const text of pieces) send({ type: 'grow', index: part.index, text })
        send(part)
      }
      const contents = collector.answer().choices.flatMap(choice => choice.content)
      return contents.map(each => ('text' in each ? each.text : '')).join('')
    },
  }
}

/** Returns the error that `run` throws, or undefined. */
export const errorFrom = async (run: () => unknown): Promise<Fault | undefined> => {
  try {
    await run()
    return undefined
  } catch (error) {
    return error as Fault
  }
}
export const noNext: Next = async () => {}
