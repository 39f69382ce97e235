/** Two answers to one prompt, compared by their shape: the calls of tools and the length of the
 *  text. Neither is stored. */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../formats/fields.ts'
import type { Answer } from '../formats/hub/answer.ts'
import { Collector } from '../formats/hub/answer-parts.ts'

export interface AnswerFacts {
  /** Characters of the text. */
  readonly length: number
  /** A digest of names and arguments of the calls of tools; empty: there are none. */
  readonly calls: string
}

export const factsOfAnswer = ({ choices }: Answer): AnswerFacts => {
  let length = 0
  const calls: string[] = []
  for (const { content } of choices)
    for (const each of content) {
      if (each.type === 'text' || each.type === 'refusal') length += each.text.length
      if (each.type === 'call') calls.push(`${each.name} ${canonical(each.input)}`)
    }
  const text = JSON.stringify(calls.sort())
  return {
    length,
    calls: calls.length === 0 ? '' : createHash('sha256').update(text).digest('base64'),
  }
}
/** Collects the parts of an answer; its facts are known at the end. */
export class AnswerWatch {
  #collector = new Collector()
  add(part: Parameters<Collector['add']>[0]): void {
    if (part.type === 'begin') this.#collector = new Collector()
    this.#collector.add(part)
  }
  get facts(): AnswerFacts {
    return factsOfAnswer(this.#collector.answer())
  }
}

/** The longer text has at most this many times the length of the other. */
const ALIKE = 2
export const areAlike = (one: AnswerFacts, other: AnswerFacts): boolean => {
  if (one.calls !== other.calls) return false
  const [shorter = 0, longer = 0] = [one.length, other.length].sort((a, b) => a - b)
  return longer <= shorter * ALIKE
}

/** Text that is not JSON is unchanged. */
const canonical = (json: string): string => {
  try {
    return canonicalJson(JSON.parse(json))
  } catch {
    return json
  }
}
