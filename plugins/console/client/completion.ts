/** Completion of keys of YAML by a JSON Schema: where the cursor stands, and which keys may stand
 *  there. Pure. */

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}
export interface Completion {
  readonly key: string
  readonly description: string
}
interface Position {
  /** Keys from the root; `[]` for an element of a list. */
  readonly path: readonly string[]
  /** The part of the key before the cursor. */
  readonly prefix: string
}
const LIST = '[]'

/** The keys that may stand at an offset of the text, with the part that is typed already. */
export const completionsAt = (
  text: string,
  offset: number,
  schema: unknown,
): { readonly prefix: string; readonly keys: readonly Completion[] } => {
  const { path, prefix } = positionAt(text, offset)
  const descriptions = new Map<string, string>()
  for (const each of schemasAt([schema as Schema], path))
    for (const [key, { description = '' }] of Object.entries(each.properties ?? {}))
      if (key.startsWith(prefix) && key !== prefix && !descriptions.has(key))
        descriptions.set(key, description)
  const keys = [...descriptions].map(([key, description]) => ({ key, description }))
  return { prefix, keys: keys.sort((a, b) => (a.key < b.key ? -1 : 1)) }
}

const positionAt = (text: string, offset: number): Position => {
  const lines = text.slice(0, offset).split('\n')
  const present = lines.pop() ?? ''
  const flow = flowPath(present)
  const typed = /[\w.-]*$/.exec(present)?.[0] ?? ''
  const { indent, isItem } = shapeOf(present)
  // In a flow map the block path is that of the line's own key.
  const parents = blockPath(lines, indent)
  const own = isItem ? [LIST] : []
  if (flow) return { path: [...parents, ...own, ...flow], prefix: typed }
  return { path: [...parents, ...own], prefix: typed }
}
const shapeOf = (line: string): { readonly indent: number; readonly isItem: boolean } => {
  const [, spaces = '', dash = ''] = /^( *)((?:- +)?)/.exec(line) ?? []
  return { indent: spaces.length, isItem: dash !== '' }
}

/** The keys of the blocks around a line with this indentation. */
const blockPath = (lines: readonly string[], indent: number): readonly string[] => {
  const path: string[] = []
  let limit = indent
  for (const line of lines.toReversed()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue
    const [, spaces = '', dash = '', key] =
      /^( *)((?:- +)?)(?:([\w.-]+|'[^']*'|"[^"]*"):)?/.exec(line) ?? []
    const keyIndent = spaces.length + dash.length
    if (dash !== '' && spaces.length < limit) {
      if (key !== undefined && keyIndent < limit) path.unshift(key.replace(/^['"]|['"]$/g, ''))
      path.unshift(LIST)
      limit = spaces.length
      // The key of the list may be as far left as its dashes.
      limit += 1
    } else if (dash === '' && key !== undefined && keyIndent < limit) {
      path.unshift(key.replace(/^['"]|['"]$/g, ''))
      limit = keyIndent
    }
    if (limit <= 0) break
  }
  return path
}

/** The keys of the flow maps that are open at the end of a line; undefined: none is. */
const flowPath = (line: string): readonly string[] | undefined => {
  const open: string[] = []
  let key = ''
  for (const [token, word] of line.matchAll(/([\w.-]+)(?=\s*:)|[{}[\]]|'[^']*'|"[^"]*"/g)) {
    if (word !== undefined) key = word
    else if (token === '{' || token === '[') {
      if (key !== '') open.push(key)
      else if (token === '{' && open.length === 0) open.push('')
      if (token === '[') open.push(LIST)
      key = ''
    } else if (token === '}' || token === ']') {
      open.pop()
      if (token === ']') open.pop()
    }
  }
  return open.length === 0 ? undefined : open.filter(each => each !== '')
}

const schemasAt = (roots: readonly Schema[], path: readonly string[]): readonly Schema[] => {
  let present = roots.flatMap(alternatives)
  for (const step of path)
    present = present.flatMap(({ properties, additionalProperties, items }) => {
      const next =
        step === LIST
          ? items
          : ((properties && Object.hasOwn(properties, step) && properties[step]) ??
            additionalProperties)
      const value = next === false || next === undefined ? additionalProperties : next
      return typeof value === 'object' ? alternatives(value) : []
    })
  return present
}
/** A schema with all that it is made of. */
const alternatives = (schema: Schema): readonly Schema[] => [
  schema,
  ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap(
    alternatives,
  ),
]
