/** The last text of the user in a request, and the numbers in it. Pure. */
import type { Prompt } from '../formats/hub/prompt.ts'

export interface LastText {
  readonly text: string
  /** The request without it. */
  readonly rest: Prompt
}
/** Undefined: the last turn of the user has no text. */
export const cutLastText = (prompt: Prompt): LastText | undefined => {
  const at = prompt.turns.findLastIndex(({ role }) => role === 'user')
  const turn = prompt.turns[at]
  if (!turn) return undefined
  const text = turn.content.flatMap(each => (each.type === 'text' ? [each.text] : [])).join('\n')
  if (text.trim() === '') return undefined
  const content = turn.content.map(each => (each.type === 'text' ? { ...each, text: '' } : each))
  return { text, rest: { ...prompt, turns: prompt.turns.with(at, { ...turn, content }) } }
}

/** With sign and separators, in any script: `-5`, `3.50`, `2026-11-30` as three. */
const NUMBER = /[-+−]?\p{N}+(?:[.,:/]\p{N}+)*/gu
/** In their order. Texts with other numbers ask for something else, however similar they are. */
export const numbersIn = (text: string): readonly string[] => text.match(NUMBER) ?? []
