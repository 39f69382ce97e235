/** Which members of an answer hold text of the model, compiled for the search in bytes. */

export interface TextMembers {
  readonly text: readonly string[]
  /** Members that repeat each other: only the first one with a text counts. */
  readonly alternatives?: readonly string[]
  /** Members whose value is an object that the model wrote, such as the arguments of a call. */
  readonly objects?: readonly string[]
  /** Members whose value holds text that the model did not write. */
  readonly exclusions?: readonly string[]
}
/** Compiled `TextMembers`. */
export interface TextPattern {
  readonly names: RegExp
  readonly members: ReadonlyMap<string, TextMember>
}
export interface TextMember {
  readonly kind: 'text' | 'either' | 'object' | 'skip'
  /** The index of its unfinished word. */
  readonly index: number
}

export const compileTextPattern = ({
  text,
  alternatives = [],
  objects = [],
  exclusions = [],
}: TextMembers) => {
  const kinds = [
    ...text.map(name => [name, 'text'] as const),
    ...alternatives.map(name => [name, 'either'] as const),
    ...objects.map(name => [name, 'object'] as const),
    ...exclusions.map(name => [name, 'skip'] as const),
  ]
  const names = kinds.map(([name]) => name).join('|')
  return {
    names: new RegExp(`"(${names})"\\s*:\\s*(["{[])`, 'g'),
    members: new Map(kinds.map(([name, kind], index) => [name, { kind, index }])),
  } satisfies TextPattern
}
