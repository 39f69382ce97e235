/** Decodes blocks to hub content: strictly from a client's turns, leniently from an upstream's
 *  answer. */
import type { Json } from '../../../engine/plugin.ts'
import { original } from '../call-id.ts'
import type { Call, Content, Media, Result, Seal, Text, Thought, Work } from '../content.ts'
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
    ...(signature && { seal: unsealed(OWN, signature) }),
  }
}
export const REDACTED = 'redacted'
const readRedacted: Read = (block, at): Thought => ({
  type: 'thought',
  text: '',
  seal: unsealed(OWN, neededText(block, 'data', at), { kind: REDACTED }),
})

/** The kind of a payload with a call's `caller` and `toolset_name`: which program of the model made
 *  the call. */
const CALLER = 'call'
const readCall: Read = (block, at): Call => {
  const { caller, toolset_name } = block
  const kept = {
    ...(isFields(caller) && caller.type !== 'direct' && { caller }),
    ...(typeof toolset_name === 'string' && { toolset_name }),
  }
  return {
    type: 'call',
    id: original(neededText(block, 'id', at)),
    ...calledWith(neededText(block, 'name', at), block.input ?? {}),
    ...(Object.keys(kept).length > 0 && {
      seal: { origin: OWN, kind: CALLER, data: JSON.stringify(kept) },
    }),
    ...readCache(block, at),
  }
}
const calledWith = (name: string, input: Json): Pick<Call, 'name' | 'input' | 'free'> => {
  const free = freeOf(name)
  if (free === undefined) return { name: originalName(name), input: JSON.stringify(input) }
  const said = isFields(input) && typeof input.input === 'string' ? input.input : undefined
  return { name: free, input: said ?? JSON.stringify(input), free: true }
}
/** The fields of a call that only this format has. */
export const callerOf = (seal: Seal | undefined): Fields =>
  (seal?.origin === OWN && seal.kind === CALLER && parsedObject(seal.data)) || {}

const readResult: Read = (block, at): Result => {
  const failed = flag(block, 'is_error', at)
  return {
    type: 'result',
    id: original(neededText(block, 'tool_use_id', at)),
    content: resultContent(block, at),
    ...(failed && { failed }),
    ...readCache(block, at),
  }
}
const resultContent = (block: Fields, at: Place): readonly (Text | Media)[] => {
  const { content } = block
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objects(list(block, 'content', at) ?? [], within(at, 'content')).map(({ fields, at }) => {
    const read = IN_RESULTS[neededText(fields, 'type', at)] ?? foreign
    return read(fields, at) as Text | Media
  })
}
/** Content of a result that the hub cannot express: its text or JSON, with the block itself as
 *  payload for upstreams of this format. */
const foreign: Read = (block): Text => ({
  type: 'text',
  text: typeof block.tool_name === 'string' ? block.tool_name : JSON.stringify(block),
  seal: blockSeal(block),
})

const IN_RESULTS: Readonly<Record<string, Read>> = {
  text: readText,
  image: readImage,
  document: readDocument,
  search_result: readSearchResult,
}
const READ: Readonly<Record<string, Read>> = {
  ...IN_RESULTS,
  container_upload: readUpload,
  thinking: readThinking,
  redacted_thinking: readRedacted,
  tool_use: readCall,
  tool_result: readResult,
}
/** A block of an unknown type concerns its provider only, such as a compaction summary or a switch
 *  of models. */
const unknown: Read = (block): Work => ({
  type: 'work',
  tool: 'other',
  id: '',
  input: null,
  ...(typeof block.content === 'string' && { output: block.content }),
  raw: { origin: OWN, items: [block] },
})

/** Decodes a block that does not depend on its neighbours. */
export const readBlock: Read = (block, at) =>
  (READ[neededText(block, 'type', at)] ?? unknown)(block, at)

/** Decodes blocks in order; a hosted call takes the position of its first block. */
export const readBlocks = (values: readonly Json[], at: Place): readonly Content[] => {
  const reading = new Reading()
  for (const { fields, at: place } of objects(values, at)) reading.take(fields, place)
  return reading.done()
}

class Reading {
  readonly #content: Content[] = []
  readonly #works = new Works()
  /** Positions of unfinished hosted calls in the content. */
  readonly #places = new Map<string, number>()
  /** Another provider's items, by the id of the hosted call that represents them here. */
  readonly #raw = new Map<string, NonNullable<Work['raw']>>()

  take(block: Fields, at: Place): void {
    const type = neededText(block, 'type', at)
    if (isUse(type)) this.#use(block, at)
    else if (isResult(type)) this.#put(this.#works.result(block, at))
    else {
      this.#settle()
      this.#plain(readBlock(block, at))
    }
  }
  #plain(content: Content): void {
    const raw = packedWork(content)
    if (raw) this.#attach(...raw)
    else this.#content.push(content)
  }
  /** The payload precedes its hosted call, or follows it if it came in a stream. */
  #attach(id: string, raw: NonNullable<Work['raw']>): void {
    const place = this.#content.findLastIndex(each => each.type === 'work' && each.id === id)
    const work = this.#content[place]
    if (work?.type === 'work') this.#content[place] = { ...work, raw }
    else this.#raw.set(id, raw)
  }
  done(): readonly Content[] {
    this.#settle()
    return this.#content
  }
  #use(block: Fields, at: Place): void {
    const raw = this.#raw.get(neededText(block, 'id', at))
    const work = this.#works.use(block, at, raw)
    this.#places.set(work.id, this.#content.push(work) - 1)
  }
  #put(work: Work): void {
    const place = this.#places.get(work.id)
    if (place === undefined) this.#content.push(work)
    else this.#content[place] = work
    this.#places.delete(work.id)
  }
  #settle(): void {
    for (const work of this.#works.rest()) this.#put(work)
  }
}

/** The kind of a payload with another provider's hosted call: its items, carried by a thought
 *  beside the blocks. `id`: the id in those blocks. */
const PACKED = 'work-items'
export const workSeal = ({ origin, items }: NonNullable<Work['raw']>, id: string): Seal => ({
  origin,
  kind: PACKED,
  id,
  data: JSON.stringify(items),
})
const packedWork = (
  content: Content,
): readonly [id: string, raw: NonNullable<Work['raw']>] | undefined => {
  if (content.type !== 'thought' || content.seal?.kind !== PACKED) return undefined
  const { origin, id = '', data } = content.seal
  const items = parsedList(data)
  return items && [id, { origin, items }]
}
