/** Interactions, which a provider stores: a later one that continues an interaction goes to its
 *  key, and must be of the same account. */
import type { Attempt } from '../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientText, parseJson } from '../formats/fields.ts'
import { eventsIn, isEventStream } from '../formats/stream/sse.ts'
import { supportedFormats } from '../formats/supported-formats.ts'
import { keepTogether, namedResources } from './named-resources.ts'
import { findOwn, type Operation, placeOf, rowOf } from './places.ts'
import { putResource } from './rows.ts'

const FORMAT = 'google-interactions'
/** The longest time that the provider stores one, ms. */
const LIFETIME = 55 * 86_400_000
/** The most bytes in which the id is searched for. */
const MOST_BYTES = 64 * 1024

const bodyOf = (parsed: unknown): Fields => (isFields(parsed) ? parsed : {})

export const createInteraction: Operation = {
  async start(exchange, host) {
    const body = bodyOf(await exchange.request.json())
    const { upstreams } = host
    const able = exchange.targets.filter(each =>
      supportedFormats(each, upstreams[each.upstream]).includes(FORMAT),
    )
    if (able.length === 0) return undefined // `translate` refuses it
    exchange.targets = able
    const previous = lenientText(body, 'previous_interaction_id')
    const named = await namedResources(exchange, host)
    const all = previous
      ? [await findOwn(`interactions/${previous}`, exchange, host), ...named]
      : named
    keepTogether(exchange, all)
    if (all.length === 0 && body.store !== false) exchange.targets = placeOf(exchange, host)
    return undefined
  },
  async finish(attempt) {
    const { exchange } = attempt
    if (bodyOf(exchange.request.parsed).store === false) return
    const id = isEventStream(attempt.reply) ? await idOfStream(attempt) : await idOfAnswer(attempt)
    if (id === undefined) return
    const row = rowOf(attempt, {
      kind: 'interactions',
      name: `interactions/${id}`,
      details: {},
      lifetime: LIFETIME,
    })
    exchange.writes.add(putResource(row))
  },
}
const idOfAnswer = async ({ reply }: Attempt): Promise<string | undefined> => {
  const bytes = await reply.peek(() => false)
  return lenientText(bodyOf(parseJson(Buffer.from(bytes ?? []).toString())), 'id')
}
/** Of the first event that names the interaction. */
const idOfStream = async ({ reply }: Attempt): Promise<string | undefined> => {
  const first = await reply.peek(bytes => bytes.length > MOST_BYTES || idIn(bytes) !== undefined)
  return first && idIn(first)
}
const idIn = (bytes: Uint8Array): string | undefined => {
  for (const { data = '' } of eventsIn(bytes)) {
    const event = bodyOf(parseJson(data))
    const id = lenientText(lenientObject(event, 'interaction'), 'id')
    if (id !== undefined) return id
  }
  return undefined
}
