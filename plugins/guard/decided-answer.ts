/** An answer that waits until a decider has read all of it. A guard that blocks holds all bytes
 *  back until then; others hold back the end only, so that the charge has the verdict. */
import { asFault } from '../../engine/errors.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import type { Part } from '../formats/hub/answer.ts'

/** Bytes of an answer that are held back. */
const LARGEST = 16 * 1024 * 1024

export interface AnswerQuestion {
  readonly holdsAll: boolean
  /** Rejects if the client must not get the answer. */
  decide(): Promise<void>
  /** The fault of an answer that is too large to be held back. */
  tooLarge(): Fault
}

export class DecidedAnswer implements Filter {
  readonly #question: AnswerQuestion
  #chunks: Bytes[] = []
  #size = 0
  #isEnded = false
  constructor(question: AnswerQuestion) {
    this.#question = question
  }
  write(chunk: Bytes, out: Out): void {
    if (this.#isEnded) return
    if (!this.#question.holdsAll) return out.write(chunk)
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > LARGEST) this.#refuse(this.#question.tooLarge(), out)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (this.#isEnded) return
    this.#question.decide().then(
      () => {
        for (const each of this.#chunks.splice(0)) out.write(each)
        out.end(tail)
      },
      error => this.#refuse(asFault(error), out),
    )
  }
  fail(reason: Fault, out: Out): void {
    // The decider has not read the bytes that are held back.
    if (!this.#isEnded) this.#refuse(reason, out)
  }
  #refuse(reason: Fault, out: Out): void {
    this.#isEnded = true
    this.#chunks = []
    out.fail(reason)
  }
}

/** The texts of an answer, block by block: a decider reads them. */
export class AnswerTexts {
  readonly #blocks = new Map<number, string>()
  add(part: Part): void {
    if (part.type === 'begin') this.#blocks.clear()
    if (part.type === 'open') this.#blocks.set(part.index, textIn(part.content))
    if (part.type === 'grow')
      this.#blocks.set(part.index, (this.#blocks.get(part.index) ?? '') + part.text)
  }
  get list(): readonly string[] {
    return [...this.#blocks.values()].filter(text => text !== '')
  }
}

const textIn = (content: Extract<Part, { type: 'open' }>['content']): string => {
  if (content.type === 'call') return content.input
  return 'text' in content ? content.text : ''
}
