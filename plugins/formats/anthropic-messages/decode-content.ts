/** Decodes blocks to hub content: strictly from a client's turns, leniently from an upstream's
 *  answer. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type {
  Call,
  Content,
  HostedCall,
  Media,
  OpaquePayload,
  Result,
  Text,
  Thought,
} from '../hub/content.ts'
import { decodePayload } from '../hub/opaque-payload.ts'
import { readCitations } from './answer/citations.ts'
import { blockPayload, parseList, parseObject, readCache } from './cache.ts'
import { HostedCalls, isResult, isUse } from './decode-hosted-tools.ts'
import { readDocument, readImage, readSearchResult, readUpload } from './media.ts'
import {
  type FieldPath,
  flagIn,
  listIn,
  memberPath,
  NAME,
  objectsIn,
  requiredText,
  textIn,
} from './members.ts'
import { freeToolName } from './names.ts'

type Read = (block: Fields, at: FieldPath) => Content

const readText: Read = (block, at): Text => ({
  type: 'text',
  text: requiredText(block, 'text', at),
  ...readCitations(block, at),
  ...readCache(block, at),
})
/** A thinking block without signature did not come from this provider. */
const readThinking: Read = (block, at): Thought => {
  const signature = textIn(block, 'signature', at)
  return {
    type: 'thought',
    text: requiredText(block, 'thinking', at),
    ...(signature && { payload: decodePayload(NAME, signature) }),
  }
}
export const REDACTED_KIND = 'redacted'
const readRedactedThinking: Read = (block, at): Thought => ({
  type: 'thought',
  text: '',
  payload: decodePayload(NAME, requiredText(block, 'data', at), { kind: REDACTED_KIND }),
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
    id: decodeCallId(requiredText(block, 'id', at)),
    ...callFieldsOf(requiredText(block, 'name', at), block.input ?? {}),
    ...(Object.keys(callerFields).length > 0 && {
      payload: { origin: NAME, kind: CALLER_KIND, data: JSON.stringify(callerFields) },
    }),
    ...readCache(block, at),
  }
}
const callFieldsOf = (name: string, input: Json): Pick<Call, 'name' | 'input' | 'isFreeText'> => {
  const toolName = freeToolName(name)
  if (toolName === undefined) return { name, input: JSON.stringify(input) }
  const inputText = isFields(input) && typeof input.input === 'string' ? input.input : undefined
  return { name: toolName, input: inputText ?? JSON.stringify(input), isFreeText: true }
}
/** The fields of a call that only this format has. */
export const callerFields = (payload: OpaquePayload | undefined): Fields =>
  (payload?.origin === NAME && payload.kind === CALLER_KIND && parseObject(payload.data)) || {}

const readResult: Read = (block, at): Result => {
  const hasFailed = flagIn(block, 'is_error', at)
  return {
    type: 'result',
    id: decodeCallId(requiredText(block, 'tool_use_id', at)),
    content: resultContent(block, at),
    ...(hasFailed && { hasFailed }),
    ...readCache(block, at),
  }
}
const resultContent = (block: Fields, at: FieldPath): readonly (Text | Media)[] => {
  const { content } = block
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsIn(listIn(block, 'content', at) ?? [], memberPath(at, 'content')).map(
    ({ fields, at }) => {
      const read = RESULT_PART_DECODERS[requiredText(fields, 'type', at)] ?? unknownResultPart
      return read(fields, at) as Text | Media
    },
  )
}
/** Content of a result that the hub cannot express: its text or JSON, with the block itself as
 *  payload for upstreams of this format. */
const unknownResultPart: Read = (block): Text => ({
  type: 'text',
  text: typeof block.tool_name === 'string' ? block.tool_name : JSON.stringify(block),
  payload: blockPayload(block),
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
const unknownBlock: Read = (block, at): HostedCall => ({
  type: 'hostedCall',
  ...(at !== undefined && { at }),
  tool: 'other',
  id: '',
  input: null,
  ...(typeof block.content === 'string' && { output: block.content }),
  raw: { origin: NAME, items: [block] },
})

/** Decodes a block that does not depend on its neighbours. */
export const readBlock: Read = (block, at) =>
  (DECODERS[requiredText(block, 'type', at)] ?? unknownBlock)(block, at)

/** Decodes blocks in order; a hosted call takes the position of its first block. */
export const readBlocks = (values: readonly Json[], at: FieldPath): readonly Content[] => {
  const reader = new BlocksReader()
  for (const { fields, at: path } of objectsIn(values, at)) reader.take(fields, path)
  return reader.finish()
}

class BlocksReader {
  readonly #content: Content[] = []
  readonly #hostedCalls = new HostedCalls()
  /** Positions of unfinished hosted calls in the content. */
  readonly #positions = new Map<string, number>()
  /** Another provider's items, by the id of the hosted call that represents them here. */
  readonly #raw = new Map<string, NonNullable<HostedCall['raw']>>()

  take(block: Fields, at: FieldPath): void {
    const type = requiredText(block, 'type', at)
    if (isUse(type)) this.#addUse(block, at)
    else if (isResult(type)) this.#addHostedCall(this.#hostedCalls.addResult(block, at))
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
  #attach(id: string, raw: NonNullable<HostedCall['raw']>): void {
    const index = this.#content.findLastIndex(each => each.type === 'hostedCall' && each.id === id)
    const call = this.#content[index]
    if (call?.type === 'hostedCall') this.#content[index] = { ...call, raw }
    else this.#raw.set(id, raw)
  }
  finish(): readonly Content[] {
    this.#closeOpen()
    return this.#content
  }
  #addUse(block: Fields, at: FieldPath): void {
    const raw = this.#raw.get(requiredText(block, 'id', at))
    const call = this.#hostedCalls.addUse(block, at, raw)
    this.#positions.set(call.id, this.#content.push(call) - 1)
  }
  #addHostedCall(call: HostedCall): void {
    const index = this.#positions.get(call.id)
    if (index === undefined) this.#content.push(call)
    else this.#content[index] = call
    this.#positions.delete(call.id)
  }
  #closeOpen(): void {
    for (const call of this.#hostedCalls.finishOpen()) this.#addHostedCall(call)
  }
}

/** The kind of a payload with another provider's hosted call: its items, carried by a thought
 *  beside the blocks. `id`: the id in those blocks. */
const HOSTED_ITEMS_KIND = 'work-items'
export const hostedItemsPayload = (
  { origin, items }: NonNullable<HostedCall['raw']>,
  id: string,
): OpaquePayload => ({
  origin,
  kind: HOSTED_ITEMS_KIND,
  id,
  data: JSON.stringify(items),
})
const hostedCallIn = (
  content: Content,
): readonly [id: string, raw: NonNullable<HostedCall['raw']>] | undefined => {
  if (content.type !== 'thought' || content.payload?.kind !== HOSTED_ITEMS_KIND) return undefined
  const { origin, id = '', data } = content.payload
  const items = parseList(data)
  return items && [id, { origin, items }]
}
