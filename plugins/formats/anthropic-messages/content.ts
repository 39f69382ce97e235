/** Decodes blocks to hub content: strictly from a client's turns, leniently from an upstream's
 *  answer. */
import type { Json } from '../../../engine/plugin.ts'
import { original } from '../call-id.ts'
import type {
  Call,
  Content,
  Media,
  OpaquePayload,
  Result,
  Text,
  Thought,
  Work,
} from '../content.ts'
import { type Fields, isFields } from '../fields.ts'
import { unsealed } from '../seal.ts'
import { blockSeal, parsedList, parsedObject, readCache } from './cache.ts'
import { readCitations } from './citations.ts'
import { readDocument, readImage, readSearchResult, readUpload } from './media.ts'
import { freeOf, originalName } from './names.ts'
import { flag, list, neededText, OWN, objects, type Place, text, within } from './read.ts'
import { isResult, isUse, Works } from './work.ts'

type Read = (block: Fields, at: Place) => Content

const readText: Read = (block, at): Text => ({
  type: 'text',
  text: neededText(block, 'text', at),
  ...readCitations(block, at),
  ...readCache(block, at),
})
/** A thinking block without signature did not come from this provider. */
const readThinking: Read = (block, at): Thought => {
  const signature = text(block, 'signature', at)
  return {
    type: 'thought',
    text: neededText(block, 'thinking', at),
    ...(signature && { payload: unsealed(OWN, signature) }),
  }
}
export const REDACTED = 'redacted'
const readRedactedThinking: Read = (block, at): Thought => ({
  type: 'thought',
  text: '',
  payload: unsealed(OWN, neededText(block, 'data', at), { kind: REDACTED }),
})

/** The kind of a payload with a call's `caller` and `toolset_name`: which program of the model made
 *  the call. */
const CALLER_KIND = 'call'
const readCall: Read = (block, at): Call => {
  const { caller, toolset_name } = block
  const callerFields = {
    ...(isFields(caller) && caller.type !== 'direct' && { caller }),
    ...(typeof toolset_name === 'string' && { toolset_name }),
  }
  return {
    type: 'call',
    id: original(neededText(block, 'id', at)),
    ...calledWith(neededText(block, 'name', at), block.input ?? {}),
    ...(Object.keys(callerFields).length > 0 && {
      payload: { origin: OWN, kind: CALLER_KIND, data: JSON.stringify(callerFields) },
    }),
    ...readCache(block, at),
  }
}
const calledWith = (name: string, input: Json): Pick<Call, 'name' | 'input' | 'isFreeText'> => {
  const toolName = freeOf(name)
  if (toolName === undefined) return { name: originalName(name), input: JSON.stringify(input) }
  const inputText = isFields(input) && typeof input.input === 'string' ? input.input : undefined
  return { name: toolName, input: inputText ?? JSON.stringify(input), isFreeText: true }
}
/** The fields of a call that only this format has. */
export const callerOf = (payload: OpaquePayload | undefined): Fields =>
  (payload?.origin === OWN && payload.kind === CALLER_KIND && parsedObject(payload.data)) || {}

const readResult: Read = (block, at): Result => {
  const hasFailed = flag(block, 'is_error', at)
  return {
    type: 'result',
    id: original(neededText(block, 'tool_use_id', at)),
    content: resultContent(block, at),
    ...(hasFailed && { hasFailed }),
    ...readCache(block, at),
  }
}
const resultContent = (block: Fields, at: Place): readonly (Text | Media)[] => {
  const { content } = block
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objects(list(block, 'content', at) ?? [], within(at, 'content')).map(({ fields, at }) => {
    const read = RESULT_PART_DECODERS[neededText(fields, 'type', at)] ?? unknownResultPart
    return read(fields, at) as Text | Media
  })
}
/** Content of a result that the hub cannot express: its text or JSON, with the block itself as
 *  payload for upstreams of this format. */
const unknownResultPart: Read = (block): Text => ({
  type: 'text',
  text: typeof block.tool_name === 'string' ? block.tool_name : JSON.stringify(block),
  payload: blockSeal(block),
})

const RESULT_PART_DECODERS: Readonly<Record<string, Read>> = {
  text: readText,
  image: readImage,
  document: readDocument,
  search_result: readSearchResult,
}
const DECODERS: Readonly<Record<string, Read>> = {
  ...RESULT_PART_DECODERS,
  container_upload: readUpload,
  thinking: readThinking,
  redacted_thinking: readRedactedThinking,
  tool_use: readCall,
  tool_result: readResult,
}
/** A block of an unknown type concerns its provider only, such as a compaction summary or a switch
 *  of models. */
const unknownBlock: Read = (block): Work => ({
  type: 'hostedCall',
  tool: 'other',
  id: '',
  input: null,
  ...(typeof block.content === 'string' && { output: block.content }),
  raw: { origin: OWN, items: [block] },
})

/** Decodes a block that does not depend on its neighbours. */
export const readBlock: Read = (block, at) =>
  (DECODERS[neededText(block, 'type', at)] ?? unknownBlock)(block, at)

/** Decodes blocks in order; a hosted call takes the position of its first block. */
export const readBlocks = (values: readonly Json[], at: Place): readonly Content[] => {
  const reading = new BlocksReader()
  for (const { fields, at: path } of objects(values, at)) reading.take(fields, path)
  return reading.finish()
}

class BlocksReader {
  readonly #content: Content[] = []
  readonly #works = new Works()
  /** Positions of unfinished hosted calls in the content. */
  readonly #places = new Map<string, number>()
  /** Another provider's items, by the id of the hosted call that represents them here. */
  readonly #raw = new Map<string, NonNullable<Work['raw']>>()

  take(block: Fields, at: Place): void {
    const type = neededText(block, 'type', at)
    if (isUse(type)) this.#use(block, at)
    else if (isResult(type)) this.#place(this.#works.result(block, at))
    else {
      this.#closeOpen()
      this.#add(readBlock(block, at))
    }
  }
  #add(content: Content): void {
    const raw = hostedCallIn(content)
    if (raw) this.#attach(...raw)
    else this.#content.push(content)
  }
  /** The payload precedes its hosted call, or follows it if it came in a stream. */
  #attach(id: string, raw: NonNullable<Work['raw']>): void {
    const index = this.#content.findLastIndex(each => each.type === 'hostedCall' && each.id === id)
    const work = this.#content[index]
    if (work?.type === 'hostedCall') this.#content[index] = { ...work, raw }
    else this.#raw.set(id, raw)
  }
  finish(): readonly Content[] {
    this.#closeOpen()
    return this.#content
  }
  #use(block: Fields, at: Place): void {
    const raw = this.#raw.get(neededText(block, 'id', at))
    const work = this.#works.use(block, at, raw)
    this.#places.set(work.id, this.#content.push(work) - 1)
  }
  #place(work: Work): void {
    const index = this.#places.get(work.id)
    if (index === undefined) this.#content.push(work)
    else this.#content[index] = work
    this.#places.delete(work.id)
  }
  #closeOpen(): void {
    for (const work of this.#works.rest()) this.#place(work)
  }
}

/** The kind of a payload with another provider's hosted call: its items, carried by a thought
 *  beside the blocks. `id`: the id in those blocks. */
const HOSTED_ITEMS_KIND = 'work-items'
export const workSeal = (
  { origin, items }: NonNullable<Work['raw']>,
  id: string,
): OpaquePayload => ({
  origin,
  kind: HOSTED_ITEMS_KIND,
  id,
  data: JSON.stringify(items),
})
const hostedCallIn = (
  content: Content,
): readonly [id: string, raw: NonNullable<Work['raw']>] | undefined => {
  if (content.type !== 'thought' || content.payload?.kind !== HOSTED_ITEMS_KIND) return undefined
  const { origin, id = '', data } = content.payload
  const items = parsedList(data)
  return items && [id, { origin, items }]
}
