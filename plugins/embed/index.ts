/** Embeddings, whatever the client's format and the target's: one vector for each item, in order, in the encoding asked for. */
import { errors } from '../../engine/errors.ts'
import type { Attempt, Headers, Host, Plugin, Slot, Target } from '../../engine/plugin.ts'
import {
  type ClientFormatOption,
  clientFormatSchema,
  readClientFormat,
} from '../conversion/client-format-option.ts'
import { DroppedFieldReport, isStrict } from '../conversion/dropped-fields.ts'
import { fault as notHere } from '../conversion/faults.ts'
import { MediaFetcher } from '../conversion/media-fetch.ts'
import { estimateContentTokens } from '../conversion/token-estimate.ts'
import { answerError, ERROR_LIMIT, keyFault } from '../conversion/upstream-error.ts'
import { embeddingNamed, embeddingNames, embeddingOf } from '../formats/embedding.ts'
import { isFields, parsed } from '../formats/fields.ts'
import { formats } from '../formats/index.ts'
import { spokenBy } from '../formats/spoken.ts'
import { MODEL, USAGE } from '../slots.ts'
import { formatsOfEmbeddings } from './formats.ts'
import type { EmbeddingFormat, Item, Sent, Vectors, Wanted } from './hub.ts'

const fault = errors({
  EMBEDDING_UNREADABLE: [502, 'The upstream answered with something that is no embedding.'],
  EMBEDDING_COUNT: [502, 'The upstream answered %d vectors to %d items.'],
})

/** Two thousand vectors of three thousand numbers, written out. */
const ANSWER_LIMIT = 256 * 1024 * 1024
/** What an upstream said of a body that is written anew. */
const OF_BODY = ['content-type', 'content-length', 'content-encoding', 'etag']
interface Asked {
  readonly sent: Sent
  readonly wanted: Wanted
  /** What was lost in reading. */
  readonly lost: readonly string[]
}
const ASKED: Slot<Asked> = { name: 'embedding' }

export default {
  schema: clientFormatSchema(
    'The format in which clients of this route ask for embeddings.',
    embeddingNames,
    'openai',
  ),
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  upstream: {
    embeddings: {
      description:
        'The format in which this upstream is asked for embeddings where nothing says what it speaks; `openai` if this does not either.',
      type: 'string',
      enum: embeddingNames,
      examples: ['google'],
    },
  },
  setup(options, host) {
    const { format: name, strict } = readClientFormat(options)
    const ground = { client: named(name), host, strict }
    return {
      async handle(exchange, next) {
        const { request, slots } = exchange
        const model = slots.get(MODEL)?.asked ?? ''
        exchange.targets = exchange.targets.filter(target => formatFor(target, host) !== undefined)
        if (exchange.targets.length === 0) throw notHere('MODEL_NOT_HERE', [model])
        const body = request.parsed ?? (await request.json())
        const sent = { body: isFields(body) ? body : {}, path: request.path, model }
        const losses = new DroppedFieldReport({})
        const wanted = ground.client.read(sent, losses)
        slots.set(ASKED, { sent, wanted, lost: losses.fields })
        await next()
      },
      forward: (attempt, next) => forward(ground, attempt, next),
      explain: ({ targets }) => ({
        ...{ embeddings: name, strict },
        targets: targets.map(target => ({
          upstream: target.upstream,
          format: formatFor(target, host)?.name ?? null,
        })),
      }),
    }
  },
} satisfies Plugin<ClientFormatOption>

interface Ground {
  readonly client: EmbeddingFormat
  readonly host: Host
  readonly strict: boolean
}
const named = (name: string): EmbeddingFormat => {
  const known = embeddingNamed(name)
  if (known) return formatsOfEmbeddings[known]
  throw new Error(
    `there is no format of embeddings "${name}"; there are ${embeddingNames.join(', ')}`,
  )
}
/** By what its model or its upstream speaks; where neither says, by what the upstream embeds in. */
const formatFor = (target: Target, { upstreams }: Host): EmbeddingFormat | undefined => {
  const upstream = upstreams[target.upstream]
  const usual = upstream?.options.embeddings
  const spoken = spokenBy(target, upstream)
  const name = embeddingOf(spoken, typeof usual === 'string' ? embeddingNamed(usual) : undefined)
  return name && formatsOfEmbeddings[name]
}

const forward = async (
  ground: Ground,
  attempt: Attempt,
  next: () => Promise<void>,
): Promise<void> => {
  const { client, host } = ground
  const { exchange, target } = attempt
  const there = formatFor(target, host) ?? client
  const { sent, ...asked } = exchange.slots.need(ASKED)
  const wanted = await carried(asked.wanted, target, host, attempt)
  const losses = new DroppedFieldReport({})
  await write(ground, there, { ...asked, sent, wanted }, attempt, losses)
  await next()
  losses.report(attempt.reply, host.log, exchange.id)
  if (attempt.reply.status >= 300) return refuse(client, there, host, attempt)
  const vectors = there.readAnswer(await bodyOf(attempt))
  const meters = vectors.meters ?? estimate(wanted)
  exchange.slots.set(USAGE, { meters, estimated: !vectors.meters })
  judge(vectors, wanted)
  const headers: Headers = { ...attempt.reply.headers }
  for (const name of OF_BODY) delete headers[name]
  attempt.answer(200, client.writeAnswer({ ...vectors, meters }, wanted, sent.model), headers)
}
/** As it was sent where both speak the same; otherwise anew, and what is lost then is named. */
const write = async (
  { client, strict }: Ground,
  there: EmbeddingFormat,
  { sent, wanted, lost }: Asked,
  { exchange, target, request }: Attempt,
  losses: DroppedFieldReport,
): Promise<void> => {
  const name = target.name ?? sent.model
  if (there === client) {
    const bytes = await exchange.request.bytes()
    const { path, body } = there.pass({ ...sent, bytes }, wanted, name)
    Object.assign(request, { path, body })
  } else {
    for (const field of lost) losses.drop(field)
    const { path, body } = there.write(wanted, name, losses)
    if (isStrict(strict, exchange)) losses.refuse(sent.model)
    Object.assign(request, { path, body: Buffer.from(JSON.stringify(body)) })
  }
  request.headers['content-type'] = 'application/json'
  delete request.headers['content-length']
}

/** Images by address, for an upstream that fetches none. */
const carried = async (
  wanted: Wanted,
  { upstream }: Target,
  host: Host,
  { exchange }: Attempt,
): Promise<Wanted> => {
  const kinds = host.upstreams[upstream]?.options.fetch
  if (!Array.isArray(kinds)) return wanted
  const fetching = new MediaFetcher(kinds.map(String), host, exchange.signal)
  const items: Item[] = []
  for (const item of wanted.items)
    items.push(
      item.type === 'tokens'
        ? item
        : ({ ...item, content: await fetching.fetchAll(item.content) } as Item),
    )
  return { ...wanted, items }
}

const bodyOf = async ({ reply }: Attempt) => {
  const body = parsed(Buffer.from(await reply.bytes(ANSWER_LIMIT)).toString())
  if (!isFields(body)) throw fault('EMBEDDING_UNREADABLE')
  return body
}
const judge = ({ vectors }: Vectors, { items }: Wanted): void => {
  if (vectors.length !== items.length)
    throw fault('EMBEDDING_COUNT', [vectors.length, items.length])
  if (vectors.some(vector => vector.length === 0)) throw fault('EMBEDDING_UNREADABLE')
}
const estimate = ({ items }: Wanted) => ({
  input: items.reduce(
    (sum, item) =>
      sum + (item.type === 'tokens' ? item.tokens.length : estimateContentTokens(item.content)),
    0,
  ),
})

const refuse = async (
  client: EmbeddingFormat,
  there: EmbeddingFormat,
  host: Host,
  attempt: Attempt,
): Promise<void> => {
  const { reply } = attempt
  const { status, headers } = reply
  const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
  if (status < 400) throw fault('EMBEDDING_UNREADABLE')
  const format = formats.get(there.errors)
  if (!format?.codec) throw keyFault(host.log, attempt, status, text)
  const said = { status, text, headers }
  answerError(host.log, client.dialect, { ...format, codec: format.codec }, attempt, said)
}
