/** The slots by which plugins read and change prompts and answers in any wire format. Set by
 *  `translate` in its `handle`, before `next()`, on routes whose format it can translate: read them
 *  in the `handle` of a stage behind it (`after: ['translate']`). Nothing is decoded for them while
 *  no stage listens. */
import type { Slot } from '../../../engine/plugin.ts'
import type { Part } from './answer.ts'
import type { Prompt } from './prompt.ts'

/** The request of the client. Each function runs once per exchange, in the order in which they were
 *  added, before the first attempt. A fault that it throws refuses the request. */
export interface PromptListeners {
  watch(see: (prompt: Prompt) => void | Promise<void>): void
  /** The request is then encoded again for every target. */
  change(map: (prompt: Prompt) => Prompt | Promise<Prompt>): void
}
export const PROMPT: Slot<PromptListeners> = { name: 'prompt-listeners' }

/** The parts of an answer, streamed or whole; `begin` is the first of each answer. A fault that a
 *  function throws refuses the answer, or cuts it after its first byte. */
export interface PartListeners {
  /** Where no stage changes parts, the bytes of the upstream pass unchanged. */
  watch(see: (part: Part) => void): void
  /** `map` sends to `out` what the client gets in place of the part. The answer is then decoded and
   *  encoded again. */
  change(map: ChangePart): void
}
export type ChangePart = (part: Part, out: (part: Part) => void) => void
export const PARTS: Slot<PartListeners> = { name: 'part-listeners' }
