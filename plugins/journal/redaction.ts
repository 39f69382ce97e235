/** Replaces personal data and secrets in what is written by their names. */
import type { Json } from '../../engine/plugin.ts'
import { FINDERS, type FinderName, findAll } from '../finders/index.ts'
import { scan, textsOf } from '../finders/scan.ts'
import type { Answer } from '../formats/hub/answer.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import {
  mapPromptText,
  replaceMatches,
  type TextFinder,
  type TextMatch,
} from '../formats/hub/text.ts'

const labelled = (_: string, { label = 'TEXT' }: TextMatch): string => `[${label}]`

export class Redaction {
  readonly #finder: TextFinder
  readonly #isEmpty: boolean
  constructor(names: readonly FinderName[]) {
    const finders = names.map(name => FINDERS[name])
    this.#isEmpty = names.length === 0
    this.#finder = { find: text => findAll(finders, text), openFrom: text => text.length }
  }
  /** Also in arguments of calls, whatever their escapes. */
  async prompt(prompt: Prompt): Promise<Prompt> {
    if (this.#isEmpty) return prompt
    const matches = await scan(textsOf(prompt), this.#finder)
    if (matches.size === 0) return prompt
    const known = { find: (text: string) => matches.get(text) ?? [] }
    return mapPromptText(prompt, text => replaceMatches(text, known, labelled))
  }
  /** Log probabilities repeat the text: they are left out. */
  async answer({ choices, ...facts }: Answer): Promise<Answer> {
    const turns = choices.map(({ content }) => ({ role: 'assistant', content }) as const)
    const { turns: redacted } = await this.prompt({ ...NOTHING, turns })
    return {
      ...facts,
      choices: choices.map(({ stop }, index) => ({
        stop,
        content: redacted[index]?.content ?? [],
      })),
    }
  }
  /** All texts of a value: those that no model reads, too. */
  json(value: Json): Json {
    if (this.#isEmpty) return value
    if (typeof value === 'string') return replaceMatches(value, this.#finder, labelled)
    if (Array.isArray(value)) return value.map(each => this.json(each))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.json(each)]))
  }
}
const NOTHING: Prompt = {
  turns: [],
  tools: [],
  settings: {},
  stream: false,
  includeUsage: false,
  body: {},
}
