/** Another format on each side: the request is read into the hub and written anew, the answer comes back the same way. */
import type { Attempt, Exchange, Headers, Log, Reply, Slot } from '../../engine/plugin.ts'
import { fetched, type Send } from '../conversion/fetching.ts'
import { isStrict, Losses } from '../conversion/losses.ts'
import { abandon, ERROR_LIMIT, notRedirected, retell } from '../conversion/refusal.ts'
import type { Codec, Context, Sent, TargetFacts } from '../formats/codec.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { withFiles } from '../formats/form-body.ts'
import type { Format, TargetFormat } from '../formats/format.ts'
import type { Prompt } from '../formats/hub.ts'
import { boundaryOf } from '../formats/multipart.ts'
import { eventsIn, hasEvent, isEventStream } from '../formats/sse.ts'
import { offersHosted } from '../formats/tally.ts'
import { ACCOUNT, MODEL, OUTPUT_LIMIT, WHOLE } from '../slots.ts'
import { CrossedAnswer, CrossedStream } from './crossed.ts'
import { PEEK_LIMIT } from './identity.ts'
import type { Memory } from './memory.ts'
import { AttemptReport } from './report.ts'
import { askRest, bytesOf, JSON_TYPE, together } from './several.ts'
import { type Sink, StreamSink, WholeSink } from './sink.ts'
import { tallied } from './tallied.ts'
import { thoughtful } from './thinking.ts'
import { Uploading } from './uploading.ts'

/** A format that can be crossed. */
export type Coded = Format & { readonly codec: Codec }
export const isCoded = (format: Format | undefined): format is Coded => format?.codec !== undefined

/** The request as the hub has it: read once, however many targets are tried. */
interface Asked {
  readonly prompt: Prompt
  /** What was lost in reading. */
  readonly lost: readonly string[]
}
const ASKED: Slot<Asked> = { name: 'prompt' }

/** What all crossings of a route share. */
export interface Ground {
  readonly log: Log
  readonly host: Send
  readonly memory: Memory
  /** Whether the route wants nothing left out. */
  readonly strict: boolean
  /** Upstream -> kinds of media that are fetched for it. */
  readonly fetches: ReadonlyMap<string, readonly string[]>
  /** Upstream -> bytes of one file that is uploaded to it. */
  readonly uploads?: ReadonlyMap<string, number>
}

/** From one client format to one format of targets. */
export class Crossing {
  readonly #client: Coded
  readonly #target: TargetFormat
  readonly #ground: Ground

  constructor(client: Coded, target: TargetFormat, ground: Ground) {
    this.#client = client
    this.#target = target
    this.#ground = ground
  }
  get runsTools(): boolean {
    return this.#target.codec.runsTools === true
  }
  async forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const { exchange } = attempt
    const losses = new Losses(this.#client.codec.settings)
    const prompt = await this.#prompt(attempt, losses)
    const sent = this.#target.codec.encodePrompt(prompt, factsOf(attempt), losses)
    if (isStrict(this.#ground.strict, exchange))
      losses.refuse(exchange.slots.get(MODEL)?.asked ?? '')
    this.#send(attempt, sent)
    await next()
    const { reply } = attempt
    losses.tell(reply, this.#ground.log, exchange.id)
    if (reply.status >= 300) return this.#refused(attempt, reply)
    const whole = await this.#rest(attempt, reply, sent.followUps ?? [])
    if (whole) await this.#answered(attempt, whole, contextOf(exchange, prompt))
  }
  /** For this target: with what the balance covers, what its name promises, and what it does not fetch by itself. */
  async #prompt(attempt: Attempt, losses: Losses): Promise<Prompt> {
    const { exchange, target } = attempt
    const { prompt, lost } = await this.#asked(exchange)
    const { drawing } = this.#target.codec
    for (const field of lost) if (!drawing?.takes.has(field)) losses.drop(field)
    losses.call(prompt.clientNames)
    const bound = bounded(prompt, exchange)
    if (drawing) {
      const reduced = drawing.reduce(bound, factsOf(attempt), losses)
      return fetched(reduced, ['image'], this.#ground.host, exchange.signal)
    }
    const thinking = thoughtful(bound, target.traits ?? {}, losses)
    const kinds = this.#ground.fetches.get(target.upstream)
    if (!kinds) return thinking
    const uploading = this.#uploading(attempt)
    return fetched(thinking, kinds, this.#ground.host, exchange.signal, uploading)
  }
  #uploading({ exchange, target: { upstream } }: Attempt): Uploading | undefined {
    const { codec } = this.#target
    const { host, log, uploads } = this.#ground
    const largest = uploads?.get(upstream)
    if (!codec.upload || largest === undefined) return undefined
    return new Uploading(codec.upload, { host, log, upstream, largest, exchange, codec })
  }
  async #asked(exchange: Exchange): Promise<Asked> {
    const known = exchange.slots.get(ASKED)
    if (known) return known
    const { codec } = this.#client
    const sent = exchange.request.parsed ?? (await exchange.request.json())
    const given = exchange.slots.get(WHOLE)?.body ?? sent
    const body = isFields(given) ? given : {}
    const losses = new Losses(codec.settings)
    const boundary = boundaryOf(exchange.request.headers['content-type'])
    const whole = boundary ? withFiles(body, await exchange.request.bytes(), boundary) : body
    const read = codec.decodePrompt(whole, addressOf(exchange), losses)
    const own = codec.forgets ? this.#ground.memory.restore(read, ownerOf(exchange)) : read
    // What an answer repeats of its request is what its client sent.
    const prompt = isFields(sent) ? { ...own, body: sent } : own
    const asked = { prompt, lost: losses.fields }
    exchange.slots.set(ASKED, asked)
    return asked
  }
  #send({ request }: Attempt, sent: Sent): void {
    request.path = sent.path
    request.body = bytesOf(sent)
    delete request.headers['content-length']
    Object.assign(request.headers, JSON_TYPE, this.#target.headers, sent.headers)
  }
  /** What one call does not give is asked once the first was granted, and all of it is one answer. */
  async #rest(attempt: Attempt, reply: Reply, more: readonly Sent[]): Promise<Reply | undefined> {
    const join = this.#target.codec.drawing?.join
    if (more.length === 0 || !join) return reply
    const { headers, name } = this.#target
    const { replies, refused } = await askRest(attempt, more, headers, this.#ground.host)
    if (!refused) return together(attempt, replies, join, name)
    await this.#refused(attempt, refused)
    return undefined
  }
  async #answered(attempt: Attempt, reply: Reply, context: Context): Promise<void> {
    const streamed = isEventStream(reply)
    if (streamed) {
      const first = await reply.peek(seen => seen.length > PEEK_LIMIT || hasEvent(seen))
      const event = first && eventsIn(first).find(each => each.data !== undefined)
      const error = event && this.#target.stream.error(event)
      if (error) return this.#failed(attempt, reply, error)
    }
    delete reply.headers['content-length']
    const { codec } = this.#client
    const stream = context.prompt.stream
    const sink: Sink = stream ? new StreamSink(codec, context) : new WholeSink(codec, context)
    reply.headers['content-type'] = sink.type
    const listener = codec.forgets
      ? this.#ground.memory.listen(ownerOf(attempt.exchange))
      : undefined
    const report = new AttemptReport(
      this.#client,
      this.#target,
      this.#ground.log,
      attempt,
      listener,
      tallied(attempt, this.#target, { offers: mayRunTools(context.prompt), streamed }),
      streamed,
    )
    const target = this.#target.codec
    reply.through(
      streamed
        ? new CrossedStream(target, this.#target.name, sink, report)
        : new CrossedAnswer(target, this.#target.name, sink, report),
    )
  }
  /** An error behind a 200 is the error it says it is, as long as nothing has been sent. */
  async #failed(
    attempt: Attempt,
    reply: Reply,
    { status, body }: { readonly status: number; readonly body: Fields },
  ): Promise<void> {
    await abandon(reply)
    this.#refuse(attempt, status, JSON.stringify(body), reply.headers)
  }
  async #refused(attempt: Attempt, reply: Reply): Promise<void> {
    await notRedirected(reply)
    const body = await reply.bytes(ERROR_LIMIT)
    this.#refuse(attempt, reply.status, Buffer.from(body).toString(), reply.headers)
  }
  #refuse(attempt: Attempt, status: number, text: string, headers: Headers): void {
    const said = { status, text, headers }
    retell(this.#ground.log, this.#client.dialect, this.#target, attempt, said)
  }
}

/** What the client's body keeps at its provider may offer some, too. */
const mayRunTools = ({ tools, body }: Prompt): boolean =>
  tools.some(({ type }) => type === 'hosted' || type === 'foreign') || offersHosted(body)

/** Whose calls and thoughts they are. */
const ownerOf = ({ slots }: Exchange): string => String(slots.get(ACCOUNT)?.id ?? '')
const addressOf = ({ request: { path, query } }: Exchange): string =>
  query.size > 0 ? `${path}?${query}` : path

/** What the balance covers bounds the answer where the client named no bound. */
const bounded = (prompt: Prompt, { slots }: Exchange): Prompt => {
  const limit = slots.get(OUTPUT_LIMIT)
  return limit === undefined ? prompt : { ...prompt, settings: { ...prompt.settings, limit } }
}
const factsOf = ({ target, exchange }: Attempt): TargetFacts => {
  const { traits = {} } = target
  return {
    name: target.name ?? exchange.slots.get(MODEL)?.asked ?? '',
    ...(typeof traits.output === 'number' && { output: traits.output }),
    traits,
  }
}
const contextOf = (exchange: Exchange, prompt: Prompt): Context => ({
  id: exchange.id.replace(/^req_/, ''),
  model: exchange.slots.get(MODEL)?.asked ?? '',
  now: Math.floor(Date.now() / 1_000),
  prompt,
  path: addressOf(exchange),
})
