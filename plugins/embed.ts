/** Embeddings, whatever the client's format and the target's: one vector for each item, in order, in the encoding asked for. */
import { errors } from '../engine/errors.ts'
import type { Attempt, Headers, Host, Plugin, Slot } from '../engine/plugin.ts'
import { tokensIn } from './counting/estimate.ts'
import type { EmbeddingFormat, Item, Vectors, Wanted } from './embeddings/hub.ts'
import { embeddingFormats } from './embeddings/index.ts'
import { isFields, parsed } from './formats/fields.ts'
import { formats } from './formats/index.ts'
import { MODEL, USAGE } from './slots.ts'
import { Fetching } from './translation/fetching.ts'
import { DROPPED, Losses } from './translation/losses.ts'
import { blame, ERROR_LIMIT, retell } from './translation/refusal.ts'

const fault = errors({
  EMBEDDING_UNREADABLE: [502, 'The upstream answered with something that is no embedding.'],
  EMBEDDING_COUNT: [502, 'The upstream answered %d vectors to %d items.'],
})

/** Two thousand vectors of three thousand numbers, written out. */
const ANSWER_LIMIT = 256 * 1024 * 1024
/** What an upstream said of a body that is written anew. */
const OF_BODY = ['content-type', 'content-length', 'content-encoding', 'etag']
const names = [...embeddingFormats.keys()]
const WANTED: Slot<Wanted> = { name: 'embedding' }

export default {
  schema: {
    description: 'The format in which clients of this route ask for embeddings.',
    type: 'string',
    enum: names,
    examples: ['openai'],
  },
  upstream: {
    embeddings: {
      description:
        'The format in which this upstream is asked for embeddings; `openai` if it does not say.',
      type: 'string',
      enum: names,
      examples: ['google'],
    },
  },
  setup(name, host) {
    const client = formatOf(name)
    return {
      async handle(exchange, next) {
        const { request, slots } = exchange
        const body = request.parsed ?? (await request.json())
        slots.set(WANTED, client.read(isFields(body) ? body : {}, request.path))
        await next()
      },
      forward: (attempt, next) => forward(client, host, attempt, next),
      explain: () => ({ embeddings: name }),
    }
  },
} satisfies Plugin<string>

const formatOf = (name: unknown): EmbeddingFormat => {
  const format = embeddingFormats.get(typeof name === 'string' ? name : 'openai')
  if (!format)
    throw new Error(`there is no format of embeddings "${name}"; there are ${names.join(', ')}`)
  return format
}

const forward = async (
  client: EmbeddingFormat,
  host: Host,
  attempt: Attempt,
  next: () => Promise<void>,
): Promise<void> => {
  const { exchange, target, request } = attempt
  const { options } = host.upstreams[target.upstream] ?? { options: {} }
  const there = formatOf(options.embeddings)
  const losses = new Losses({})
  const wanted = await carried(exchange.slots.need(WANTED), options.fetch, host, attempt)
  const asked = exchange.slots.get(MODEL)?.asked ?? ''
  const sent = there.write(wanted, target.name ?? asked, losses)
  request.path = sent.path
  request.body = Buffer.from(JSON.stringify(sent.body))
  request.headers['content-type'] = 'application/json'
  delete request.headers['content-length']
  await next()
  if (attempt.reply.status >= 300) return refuse(client, there, host, attempt)
  const vectors = there.readAnswer(await bodyOf(attempt))
  const meters = vectors.meters ?? estimate(wanted)
  exchange.slots.set(USAGE, { meters, estimated: !vectors.meters })
  judge(vectors, wanted)
  const headers: Headers = { ...attempt.reply.headers }
  for (const name of OF_BODY) delete headers[name]
  if (losses.header !== '') headers[DROPPED] = losses.header
  attempt.answer(200, client.writeAnswer({ ...vectors, meters }, wanted, asked), headers)
}

/** Images by address, for an upstream that fetches none. */
const carried = async (
  wanted: Wanted,
  kinds: unknown,
  host: Host,
  { exchange }: Attempt,
): Promise<Wanted> => {
  if (!Array.isArray(kinds)) return wanted
  const fetching = new Fetching(kinds.map(String), host, exchange.signal)
  const items: Item[] = []
  for (const item of wanted.items)
    items.push(
      item.type === 'tokens'
        ? item
        : ({ ...item, content: await fetching.all(item.content) } as Item),
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
    (sum, item) => sum + (item.type === 'tokens' ? item.tokens.length : tokensIn(item.content)),
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
  if (!format?.codec) throw blame(host.log, attempt, status, text)
  const said = { status, text, headers }
  retell(host.log, client.dialect, { ...format, codec: format.codec }, attempt, said)
}
