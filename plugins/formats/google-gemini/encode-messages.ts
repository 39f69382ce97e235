/** Encodes turns as Google's contents. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { argumentsOf, type Fields, isFields, omitUndefined } from '../fields.ts'
import { mediaIn, wrapResult } from '../google/results.ts'
import { dropCache } from '../hub/cache-hint.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Call, Content, HostedCall, Media, Result, Thought } from '../hub/content.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import type { Prompt, Turn } from '../hub/prompt.ts'
import { fillLastTurn } from '../hub/turn-order.ts'
import { unsupportedMedia, writeMedia } from './content.ts'
import { encodeToolName, NAME, PLACEHOLDER_SIGNATURE } from './name.ts'
import { type Traits, traitsOf } from './traits.ts'

type Part = { [key: string]: Json }
interface Contents {
  readonly systemInstruction?: Fields
  readonly cachedContent?: string
  readonly contents: readonly Fields[]
}

export const writeTurns = (
  { turns, cache }: Pick<Prompt, 'turns' | 'cache'>,
  traits: Traits,
  dropped: DroppedFields,
): Contents => {
  dropCache(cache, dropped)
  const first = turns.findIndex(({ role }) => role !== 'system')
  const start = first < 0 ? turns.length : first
  const writer = new Writer(traits, dropped)
  const system = turns.slice(0, start).flatMap(turn => writer.systemParts(turn))
  for (const turn of fillLastTurn(turns.slice(start))) writer.addTurn(turn)
  const { contents, cachedContent } = writer
  // Google requires a user content, so a prompt of instructions only is sent as one.
  if (contents.length === 0 && cachedContent === undefined && system.length > 0)
    return { contents: [{ role: 'user', parts: system }] }
  return {
    contents,
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...(cachedContent !== undefined && { cachedContent }),
  }
}

class Writer {
  readonly contents: { readonly role: string; readonly parts: Part[] }[] = []
  cachedContent: string | undefined
  readonly #traits: Traits
  readonly #dropped: DroppedFields
  /** Id of a call -> name of its function, which results of this format need. */
  readonly #names = new Map<string, string>()

  constructor(traits: Traits, dropped: DroppedFields) {
    this.#traits = traits
    this.#dropped = dropped
  }
  systemParts({ content, name }: Turn): readonly Part[] {
    if (name !== undefined) this.#dropped.add('name')
    return content.flatMap(each => {
      if (each.type === 'media') throw unsupportedMedia(each, 'media in a system prompt')
      return this.#partsOf(each)
    })
  }
  addTurn({ role, content, name }: Turn): void {
    if (name !== undefined) this.#dropped.add('name')
    const parts = role === 'assistant' ? this.#modelParts(content) : this.#userParts(content)
    if (parts.length === 0) return
    const googleRole = role === 'assistant' ? 'model' : 'user'
    const last = this.contents.at(-1)
    if (last?.role === googleRole) last.parts.push(...parts)
    else this.contents.push({ role: googleRole, parts })
  }
  /** Results first; their media follow all results if the model accepts no media inside a
   *  result. */
  #userParts(content: readonly Content[]): Part[] {
    const results = content.filter((each): each is Result => each.type === 'result')
    const parts: Part[] = results.map(result => this.#functionResponse(result))
    if (!this.#traits.takesToolMedia)
      for (const result of results) parts.push(...this.#resultMedia(mediaIn(result), result))
    for (const each of content) if (each.type !== 'result') parts.push(...this.#partsOf(each))
    return parts
  }
  #resultMedia(media: readonly Media[], { name, id }: Result): readonly Part[] {
    if (media.length === 0) return []
    const text = `Returned by ${name ?? this.#names.get(id)}:`
    return [{ text }, ...media.flatMap(each => this.#partsOf(each))]
  }
  /** An assistant turn. A signature without text belongs to the next part, or else to the last
   *  one. */
  #modelParts(content: readonly Content[]): Part[] {
    const parts: Part[] = []
    let pendingSignature: string | undefined
    for (const each of content) {
      const payload = ownPayload(each)
      if (each.type === 'thought' && each.text === '') {
        if (pendingSignature !== undefined && payload !== undefined)
          addSignature(parts, pendingSignature)
        pendingSignature = payload ?? pendingSignature
        continue
      }
      const [part, ...more] = this.#partsOf(each)
      if (!part) continue
      // The next part has its own signature, so this one belongs to the preceding part.
      if (pendingSignature !== undefined && signatureOf(part, payload) !== undefined)
        addSignature(parts, pendingSignature)
      const signature = signatureOf(part, payload) ?? pendingSignature
      if (signature !== undefined) part.thoughtSignature = signature
      pendingSignature = undefined
      parts.push(part, ...more)
    }
    if (pendingSignature !== undefined) addSignature(parts, pendingSignature)
    if (this.#traits.needsSignatures) addPlaceholder(parts)
    return parts
  }
  #partsOf(content: Content): Part[] {
    if ('cache' in content) dropCache(content.cache, this.#dropped)
    switch (content.type) {
      case 'text':
        if (content.citations && content.citations.length > 0) this.#dropped.add('citations')
        return content.text === '' && !ownPayload(content) ? [] : [{ text: content.text }]
      case 'refusal':
        return content.text === '' ? [] : [{ text: content.text }]
      case 'thought':
        return ownPayload(content) ? [{ text: content.text, thought: true }] : []
      case 'media':
        return this.#mediaParts(content)
      case 'call':
        return [{ functionCall: this.#functionCall(content) }]
      case 'result':
        return [this.#functionResponse(content)]
      case 'hostedCall':
        return this.#hostedCallParts(content)
    }
  }
  #hostedCallParts(call: HostedCall): Part[] {
    if (call.raw?.origin === NAME) return call.raw.items.map(item => ({ ...(item as Part) }))
    const text = describeHostedCall(call, this.#dropped)
    return text ? [{ text: text.text }] : []
  }
  #mediaParts(media: Media): Part[] {
    const { source } = media
    if (
      source.type === 'file' &&
      source.origin === NAME &&
      /^cachedContents\/|\/cachedContents\//.test(source.file)
    ) {
      this.cachedContent = source.file
      return []
    }
    return [{ ...writeMedia(media, this.#traits.takesResolution, this.#dropped) }]
  }
  #functionCall({ id, name, input, isFreeText }: Call): Fields {
    const functionName = encodeToolName({ name, ...(isFreeText && { isFreeText }) })
    this.#names.set(id, functionName)
    return {
      id: encodeCallId(id, PORTABLE_ID),
      name: functionName,
      args: isFreeText ? { input } : argumentsOf(input),
    }
  }
  #functionResponse(result: Result): Part {
    const { id } = result
    const name =
      this.#names.get(id) ??
      (result.name && encodeToolName(result as Pick<Call, 'name' | 'isFreeText'>))
    if (name === undefined) throw fault('CALL_UNKNOWN', [id])
    for (const { cache } of [result, ...result.content]) dropCache(cache, this.#dropped)
    const media = this.#traits.takesToolMedia ? mediaIn(result) : []
    const parts = media.map(each => writeMedia(each, false, this.#dropped))
    return {
      functionResponse: omitUndefined({
        id: encodeCallId(id, PORTABLE_ID),
        name,
        response: wrapResult(result),
        parts: parts.length > 0 ? parts : undefined,
      }),
    }
  }
}

const ownPayload = (content: Content): string | undefined => {
  const payload = 'payload' in content ? (content as Thought).payload : undefined
  return payload?.origin === NAME ? payload.data : undefined
}
const signatureOf = (part: Part, payload: string | undefined): Json | undefined =>
  part.thoughtSignature ?? payload
const addSignature = (parts: Part[], thoughtSignature: string): void => {
  const last = parts.at(-1)
  if (last && last.thoughtSignature === undefined) last.thoughtSignature = thoughtSignature
  else parts.push({ text: '', thoughtSignature })
}
/** Calls of another provider's model have no signature; Google documents a placeholder. It checks
 *  only the first of several parallel calls. */
const addPlaceholder = (parts: readonly Part[]): void => {
  const first = parts.find(part => 'functionCall' in part)
  if (first) first.thoughtSignature ??= PLACEHOLDER_SIGNATURE
}

/** The contents of a client's own request with a placeholder for the signature of calls that
 *  another provider's model made. */
export const repairHistory = (
  { contents }: Fields,
  target: TargetFacts,
): readonly (readonly [key: string, value: Json])[] => {
  if (!traitsOf(target).needsSignatures || !Array.isArray(contents)) return []
  const repaired = contents.map(signCall)
  return repaired.every((each, index) => each === contents[index]) ? [] : [['contents', repaired]]
}
/** Google checks the first of several parallel calls. */
const signCall = (content: Json): Json => {
  if (!isFields(content) || !Array.isArray(content.parts)) return content
  const { parts } = content
  const first = parts.findIndex(part => isFields(part) && (part.functionCall ?? part.function_call))
  const call = parts[first]
  if (!isFields(call) || call.thoughtSignature || call.thought_signature) return content
  const signed = { ...call, thoughtSignature: PLACEHOLDER_SIGNATURE }
  return { ...content, parts: parts.map((part, index) => (index === first ? signed : part)) }
}
