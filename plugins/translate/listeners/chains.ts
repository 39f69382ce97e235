/** Runs what plugins do with prompts and answers: the values of the slots PROMPT and PARTS. */
import type { Exchange, Slot } from '../../../engine/plugin.ts'
import type { Answer, Part } from '../../formats/hub/answer.ts'
import { Collector, partsOf } from '../../formats/hub/answer-parts.ts'
import type { Prompt } from '../../formats/hub/prompt.ts'
import {
  type ChangePart,
  PARTS,
  type PartListeners,
  PROMPT,
  type PromptListeners,
} from '../../formats/hub/slots.ts'

type MapPrompt = (prompt: Prompt) => Prompt | Promise<Prompt>

export class PromptChain implements PromptListeners {
  readonly #steps: MapPrompt[] = []
  hasChanges = false
  get isEmpty(): boolean {
    return this.#steps.length === 0
  }
  watch(see: (prompt: Prompt) => void | Promise<void>): void {
    this.#steps.push(async prompt => {
      await see(prompt)
      return prompt
    })
  }
  change(map: MapPrompt): void {
    this.hasChanges = true
    this.#steps.push(map)
  }
  async run(prompt: Prompt): Promise<Prompt> {
    let current = prompt
    for (const step of this.#steps) current = await step(current)
    return current
  }
}

export class PartChain implements PartListeners {
  readonly #steps: ChangePart[] = []
  hasChanges = false
  get isEmpty(): boolean {
    return this.#steps.length === 0
  }
  watch(see: (part: Part) => void): void {
    this.#steps.push((part, out) => {
      see(part)
      out(part)
    })
  }
  change(map: ChangePart): void {
    this.hasChanges = true
    this.#steps.push(map)
  }
  /** Passes parts through all functions to `last`. */
  compose(last: (part: Part) => void): (part: Part) => void {
    return this.#steps.reduceRight<(part: Part) => void>(
      (out, step) => part => step(part, out),
      last,
    )
  }
  changeAnswer(answer: Answer): Answer {
    const collector = new Collector()
    const send = this.compose(part => collector.add(part))
    for (const part of partsOf(answer)) send(part)
    return this.hasChanges ? withLogprobs(collector.answer(), answer) : answer
  }
}
/** Log probabilities repeat the text: those of changed text are left out. */
const withLogprobs = (answer: Answer, original: Answer): Answer => ({
  ...answer,
  choices: answer.choices.map((choice, index) => {
    const { content, logprobs } = original.choices[index] ?? {}
    const isSame = JSON.stringify(content) === JSON.stringify(choice.content)
    return isSame && logprobs !== undefined ? { ...choice, logprobs } : choice
  }),
})

/** The same slots, with what only `translate` uses. */
export const PROMPT_CHAIN: Slot<PromptChain> = { name: PROMPT.name }
const PART_CHAIN: Slot<PartChain> = { name: PARTS.name }

export const openListeners = ({ slots }: Exchange): void => {
  slots.set(PROMPT_CHAIN, new PromptChain())
  slots.set(PART_CHAIN, new PartChain())
}
/** Undefined if no stage listens to the answer. */
export const partChainOf = ({ slots }: Exchange): PartChain | undefined => {
  const chain = slots.get(PART_CHAIN)
  return chain?.isEmpty === false ? chain : undefined
}
