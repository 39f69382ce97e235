/** Encodes turns as the instruction and the steps of a request. */
import { fault } from '../faults.ts'
import { type Fields, isFields, omitUndefined } from '../fields.ts'
import { GOOGLE } from '../google/origin.ts'
import { dropCache } from '../hub/cache-hint.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Content, HostedCall, Media, Result, Text } from '../hub/content.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import type { Prompt, Turn } from '../hub/prompt.ts'
import { fillLastTurn } from '../hub/turn-order.ts'
import { encodeMedia } from './content.ts'
import { NAME } from './name.ts'
import { callStep, thoughtStep } from './steps.ts'

export interface Conversation {
  readonly input: readonly Fields[]
  readonly system_instruction?: string
  readonly cached_content?: string
}

export const writeTurns = (
  { turns, cache }: Pick<Prompt, 'turns' | 'cache'>,
  dropped: DroppedFields,
): Conversation => {
  dropCache(cache, dropped)
  const first = turns.findIndex(({ role }) => role !== 'system')
  const start = first < 0 ? turns.length : first
  const writer = new StepsWriter(dropped)
  const system = turns
    .slice(0, start)
    .map(({ content }) => writer.instruction(content))
    .filter(text => text !== '')
    .join('\n\n')
  for (const turn of fillLastTurn(turns.slice(start))) writer.add(turn)
  const { steps, cachedContent } = writer
  const cached = cachedContent !== undefined && { cached_content: cachedContent }
  // A prompt of instructions only is sent as input, which must not be empty.
  if (steps.length === 0 && system !== '')
    return { input: [userInput([{ type: 'text', text: system }])], ...cached }
  return { input: steps, ...(system !== '' && { system_instruction: system }), ...cached }
}
const userInput = (content: readonly Fields[]): Fields => ({ type: 'user_input', content })

class StepsWriter {
  readonly steps: Fields[] = []
  cachedContent: string | undefined
  /** The step of contents that was added last. */
  #open: { readonly type: string; readonly content: Fields[] } | undefined
  readonly #dropped: DroppedFields

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped
  }
  instruction(content: readonly Content[]): string {
    return content
      .flatMap(each => {
        if (each.type !== 'text') throw unsupported(each, 'media in a system prompt')
        dropCache(each.cache, this.#dropped)
        return [each.text]
      })
      .join('\n')
  }
  add({ role, content, name }: Turn): void {
    if (name !== undefined) this.#dropped.add('name')
    const type = role === 'assistant' ? 'model_output' : 'user_input'
    const results = content.filter(each => each.type === 'result')
    for (const result of results) this.steps.push(this.#resultStep(result))
    for (const each of content) if (each.type !== 'result') this.#addContent(type, each)
  }
  #addContent(type: string, content: Content): void {
    if ('cache' in content) dropCache(content.cache, this.#dropped)
    if (content.type === 'text' || content.type === 'refusal' || content.type === 'media')
      this.#addPart(type, content)
    const payload = 'payload' in content ? content.payload : undefined
    const own = payload?.origin === GOOGLE ? payload : undefined
    if (content.type === 'thought' && own) this.steps.push(thoughtStep(content.text, own))
    else if (own) this.steps.push(thoughtStep('', own))
    if (content.type === 'call') this.steps.push(callStep(content, content.input))
    if (content.type === 'hostedCall') this.#addHosted(type, content)
  }
  #addPart(type: string, content: Exclude<Content, { readonly type: 'thought' }>): void {
    const part = this.#partOf(content)
    if (part) this.#append(type, part)
  }
  #partOf(content: Content): Fields | undefined {
    if (content.type === 'media') return this.#mediaPart(content)
    if (content.type !== 'text' && content.type !== 'refusal') return undefined
    if (content.type === 'text' && content.citations?.length) this.#dropped.add('citations')
    return content.text === '' ? undefined : { type: 'text', text: content.text }
  }
  /** Consecutive contents of one side are one step. */
  #append(type: string, part: Fields): void {
    if (this.#open?.type === type && this.#open === this.steps.at(-1))
      return void this.#open.content.push(part)
    this.#open = { type, content: [part] }
    this.steps.push(this.#open)
  }
  #mediaPart(media: Media): Fields | undefined {
    const { source } = media
    const isCache = source.type === 'file' && /(?:^|\/)cachedContents\//.test(source.file)
    if (!isCache || source.origin !== GOOGLE) return encodeMedia(media, this.#dropped)
    this.cachedContent = source.file
    return undefined
  }
  #addHosted(type: string, call: HostedCall): void {
    if (call.raw?.origin === NAME) return void this.steps.push(...call.raw.items.filter(isFields))
    const text = describeHostedCall(call, this.#dropped)
    if (text) this.#append(type, { type: 'text', text: text.text })
  }
  #resultStep(result: Result): Fields {
    const { id, name, content, hasFailed } = result
    for (const { cache } of [result, ...content]) dropCache(cache, this.#dropped)
    return omitUndefined({
      type: 'function_result',
      call_id: encodeCallId(id, PORTABLE_ID),
      name,
      is_error: hasFailed,
      result: this.#resultOf(content),
    })
  }
  #resultOf(content: readonly (Text | Media)[]): string | readonly Fields[] {
    if (content.every(each => each.type === 'text'))
      return content.map(({ text }) => text).join('\n')
    return content.flatMap((each): readonly Fields[] => {
      const part = this.#partOf(each)
      return part ? [part] : []
    })
  }
}
const unsupported = (content: Content, what: string): Error => {
  const at = ('at' in content ? content.at : undefined) ?? content.type
  return fault('CONTENT_UNSUPPORTED', [at, what], { param: at })
}
