/** Rebuilds an interaction from the events of its stream. Pure. */
import { type Fields, isFields, lenientText, parseJson } from '../../formats/fields.ts'
import type { Assembler } from '../record-answer.ts'

interface OpenStep {
  step: Fields
  /** The pieces of the arguments. */
  input: string
}

export class InteractionAssembler implements Assembler {
  #interaction: Fields = {}
  readonly #steps = new Map<number, OpenStep>()
  #isComplete = false

  /** The whole interaction; undefined until its last event. */
  get answer(): Fields | undefined {
    if (!this.#isComplete) return undefined
    const steps = [...this.#steps.keys()].sort((a, b) => a - b).map(index => this.#stepAt(index))
    return { ...this.#interaction, steps }
  }
  /** `event`: the JSON of one event. */
  add(event: Fields): void {
    const type = lenientText(event, 'event_type') ?? ''
    const { interaction, step, delta } = event
    const index = Number(event.index)
    if (isFields(interaction)) this.#interaction = { ...this.#interaction, ...interaction }
    if (type.startsWith('interaction.complete')) this.#isComplete = true
    else if (type === 'step.start' && isFields(step)) this.#steps.set(index, { step, input: '' })
    else if (type === 'step.delta' && isFields(delta)) this.#grow(index, delta)
  }
  #grow(index: number, delta: Fields): void {
    const open = this.#steps.get(index)
    if (!open) return
    const type = lenientText(delta, 'type') ?? ''
    if (type === 'arguments_delta') open.input += lenientText(delta, 'arguments') ?? ''
    else if (type === 'thought_signature')
      open.step = { ...open.step, signature: delta.signature ?? '' }
    else if (type === 'thought_summary')
      open.step = appended(open.step, 'summary', isFields(delta.content) ? delta.content : {})
    else if (type === 'text_annotation_delta') open.step = annotated(open.step, delta)
    else if (type === open.step.type) open.step = { ...open.step, ...delta }
    else open.step = appended(open.step, 'content', delta)
  }
  #stepAt(index: number): Fields {
    const { step, input } = this.#steps.get(index) as OpenStep
    const value = parseJson(input)
    return isFields(value) ? { ...step, arguments: value } : step
  }
}

const contentsOf = (step: Fields, member: string): readonly Fields[] => {
  const list = step[member]
  return Array.isArray(list) ? list.filter(isFields) : []
}
/** Consecutive texts are one. */
const appended = (step: Fields, member: string, content: Fields): Fields => {
  const before = contentsOf(step, member)
  const last = before.at(-1)
  const isText = content.type === 'text' && last?.type === 'text'
  if (!isText) return { ...step, [member]: [...before, content] }
  const text = `${lenientText(last, 'text') ?? ''}${lenientText(content, 'text') ?? ''}`
  return { ...step, [member]: [...before.slice(0, -1), { ...last, text }] }
}
const annotated = (step: Fields, { annotations }: Fields): Fields => {
  const contents = contentsOf(step, 'content')
  const last = contents.at(-1)
  if (!last || !Array.isArray(annotations)) return step
  const all = [...contentsOf(last, 'annotations'), ...annotations]
  return { ...step, content: [...contents.slice(0, -1), { ...last, annotations: all }] }
}
