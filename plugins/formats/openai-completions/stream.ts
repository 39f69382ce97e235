/** Decodes and encodes streamed completions: unnamed chunks, then `[DONE]`. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, lenientObjects, lenientText } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { Part } from '../hub/answer.ts'
import type { EncodeContext, StreamDecoder, StreamEncoder } from '../hub/codec.ts'
import { readLogprobs, writeLogprobs } from './logprobs.ts'
import { echoOf } from './request.ts'
import { answerId, countsIn, countsOf, metersOf, reasonOf, stopOf, textOf } from './response.ts'

type Emit = (part: Part) => void

// ---------------------------------------------------------------- from an upstream

/** The block of a choice, and whether its finish reason has come. */
interface OpenChoice {
  readonly block: number
  hasStopped: boolean
}

export const decodeStream = (): StreamDecoder => {
  const choices = new Map<number, OpenChoice>()
  let hasBegun = false
  let hasEnded = false
  const end = (emit: Emit): void => {
    for (const [number, choice] of choices) stop(number, choice, null, emit)
    hasEnded = true
    emit({ type: 'end' })
  }
  return {
    push(event, emit): void {
      if (hasEnded) return
      if (event.data?.trim() === '[DONE]') return end(emit)
      const fields = eventFields(event)
      if (!fields) return
      if (!hasBegun) emit(beginOf(fields))
      hasBegun = true
      for (const chunk of lenientObjects(fields, 'choices')) {
        const number = typeof chunk.index === 'number' ? chunk.index : 0
        const choice = choices.get(number) ?? openChoice(number, choices, emit)
        if (!choice.hasStopped) readChunk(chunk, number, choice, emit)
      }
      const counts = countsIn(fields)
      if (counts) emit({ type: 'count', meters: metersOf(counts) })
    },
    close(emit): boolean {
      const isComplete = choices.size > 0 && [...choices.values()].every(each => each.hasStopped)
      if (!hasEnded && isComplete) end(emit)
      return hasEnded
    },
  }
}
const beginOf = ({ id, model, created }: Fields): Part => ({
  type: 'begin',
  ...(typeof id === 'string' && { id }),
  ...(typeof model === 'string' && { model }),
  ...(typeof created === 'number' && created > 0 && { created }),
})
const openChoice = (choice: number, choices: Map<number, OpenChoice>, emit: Emit): OpenChoice => {
  const opened = { block: choices.size, hasStopped: false }
  choices.set(choice, opened)
  emit({ type: 'open', index: opened.block, choice, content: { type: 'text', text: '' } })
  return opened
}
const readChunk = (chunk: Fields, number: number, choice: OpenChoice, emit: Emit): void => {
  const text = lenientText(chunk, 'text')
  const logprobs = readLogprobs(chunk.logprobs)
  if (text)
    emit({ type: 'grow', index: choice.block, text, ...(logprobs !== undefined && { logprobs }) })
  const { finish_reason: reason = null } = chunk
  if (typeof reason === 'string') stop(number, choice, reason, emit)
}
const stop = (number: number, choice: OpenChoice, reason: Json, emit: Emit): void => {
  if (choice.hasStopped) return
  choice.hasStopped = true
  emit({ type: 'close', index: choice.block })
  emit({ type: 'stop', choice: number, stop: stopOf(reason) })
}

// ---------------------------------------------------------------- to a client

export const encodeStream = (context: EncodeContext): StreamEncoder =>
  new CompletionEncoder(context)

class CompletionEncoder implements StreamEncoder {
  readonly #context: EncodeContext
  readonly #echo: string
  /** Block -> its choice; undefined for content that this format does not show. */
  readonly #blocks = new Map<number, number>()
  /** Choice -> characters of its text so far. */
  readonly #lengths = new Map<number, number>()
  #created: number
  #usage: Json = null

  constructor(context: EncodeContext) {
    this.#context = context
    this.#created = context.now
    this.#echo = echoOf(context.prompt)
  }
  push(part: Part): string {
    switch (part.type) {
      case 'begin':
        this.#created = part.created ?? this.#created
        if (part.meters) this.#usage = countsOf(part.meters)
        return ''
      case 'count':
        this.#usage = countsOf(part.meters)
        return ''
      case 'open':
        if (part.content.type === 'text' || part.content.type === 'refusal')
          this.#blocks.set(part.index, part.choice)
        return this.#text(part.choice, textOf(part.content), undefined)
      case 'grow': {
        const choice = this.#blocks.get(part.index)
        return choice === undefined ? '' : this.#text(choice, part.text, part.logprobs)
      }
      case 'stop':
        return this.#begin(part.choice) + this.#choice(part.choice, '', null, reasonOf(part.stop))
      case 'end':
        return `${this.#context.prompt.includeUsage ? this.#chunk([], this.#usage) : ''}data: [DONE]\n\n`
      default:
        return ''
    }
  }
  failure(body: Fields): string {
    return `data: ${JSON.stringify(body)}\n\n`
  }
  /** The client's own text, if it asked for it. */
  #begin(choice: number): string {
    if (this.#lengths.has(choice)) return ''
    this.#lengths.set(choice, this.#echo.length)
    return this.#echo === '' ? '' : this.#choice(choice, this.#echo, null, null)
  }
  #text(choice: number, text: string, logprobs: Json | undefined): string {
    if (text === '') return ''
    const echo = this.#begin(choice)
    const offset = this.#lengths.get(choice) ?? 0
    this.#lengths.set(choice, offset + text.length)
    return echo + this.#choice(choice, text, writeLogprobs(logprobs, offset), null)
  }
  #choice(index: number, text: string, logprobs: Json, reason: string | null): string {
    return this.#chunk([{ index, text, logprobs, finish_reason: reason }], null)
  }
  #chunk(choices: readonly Json[], usage: Json): string {
    const { model, prompt } = this.#context
    return `data: ${JSON.stringify({
      id: answerId(this.#context),
      object: 'text_completion',
      created: this.#created,
      model,
      choices,
      ...(prompt.includeUsage && { usage }),
    })}\n\n`
  }
}
