/** Completion of YAML by a JSON Schema: where the cursor is, and which keys and values may be
 *  there. Pure. */
import type { Schema } from './openapi.ts'

/** The schema itself, or the one that it refers to. */
type Follow = (schema: Schema) => Schema
export interface Completion {
  /** A key or a value. */
  readonly name: string
  readonly description: string
  /** The text that replaces the part that is typed already. */
  readonly insert: string
}
interface Position {
  /** Keys from the root; `[]` for an element of a list. */
  readonly path: readonly string[]
  /** The part before the cursor. */
  readonly prefix: string
  /** Whether the value of a key is here, and no key. */
  readonly isValue: boolean
}
const LIST = '[]'

/** The choices at an offset of the text, with the part that is typed already. */
export const completionsAt = (
  text: string,
  offset: number,
  schema: unknown,
): { readonly prefix: string; readonly completions: readonly Completion[] } => {
  const { path, prefix, isValue } = positionAt(text, offset)
  // The page asks for the schema: until it has come, there is nothing to complete.
  if (schema === undefined) return { prefix, completions: [] }
  const { $defs = {} } = schema as Schema
  const follow: Follow = ({ $ref, ...each }) =>
    $ref === undefined ? each : ($defs[$ref.replace('#/$defs/', '')] ?? {})
  const schemas = schemasAt(schema as Schema, path, follow)
  const keys = isValue ? [] : schemas.flatMap(each => keysOf(each, follow))
  const all = [...keys, ...schemas.flatMap(valuesOf)]
  const byName = new Map(
    all
      .filter(({ name }) => name.startsWith(prefix) && name !== prefix)
      .toReversed()
      .map(each => [each.name, each]),
  )
  const completions = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  return { prefix, completions }
}
const keysOf = ({ properties = {} }: Schema, follow: Follow): readonly Completion[] =>
  Object.entries(properties).map(([name, each]) => ({
    name,
    description: follow(each).description ?? '',
    insert: `${name}: `,
  }))
const valuesOf = (schema: Schema): readonly Completion[] => {
  const { type = [], enum: choices = [], const: only, examples = [], description = '' } = schema
  const flags = [type].flat().includes('boolean') ? [true, false] : []
  return [...choices, ...(only === undefined ? [] : [only]), ...flags, ...examples]
    .filter(each => ['string', 'number', 'boolean'].includes(typeof each))
    .map(each => ({ name: String(each), description, insert: scalarOf(each) }))
}
/** As YAML writes it: a text that would be something else is quoted. */
const scalarOf = (value: unknown): string =>
  typeof value !== 'string' || /^[A-Za-z][\w./ -]*$|^\d+\/\w+$/.test(value)
    ? String(value)
    : `'${value.replaceAll("'", "''")}'`

const positionAt = (text: string, offset: number): Position => {
  const lines = text.slice(0, offset).split('\n')
  const present = lines.pop() ?? ''
  const { indent, isItem } = shapeOf(present)
  const parents = blockPath(lines, indent)
  // In a flow map the block path is that of the line's own key.
  const flow = flowPath(present) ?? []
  const path = [...parents, ...(isItem ? [LIST] : []), ...flow]
  const [, key, value = ''] =
    /([\w.-]+|'[^']*'|"[^"]*"):[ \t]+([^\s,{}[\]'"]*)$/.exec(present) ?? []
  if (key !== undefined) return { path: [...path, unquoted(key)], prefix: value, isValue: true }
  const prefix = /[\w./-]*$/.exec(present)?.[0] ?? ''
  return { path, prefix, isValue: flow.at(-1) === LIST }
}
const unquoted = (key: string): string => key.replace(/^['"]|['"]$/g, '')
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
      if (key !== undefined && keyIndent < limit) path.unshift(unquoted(key))
      path.unshift(LIST)
      limit = spaces.length
      // The key of the list may be as far left as its dashes.
      limit += 1
    } else if (dash === '' && key !== undefined && keyIndent < limit) {
      path.unshift(unquoted(key))
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

const schemasAt = (root: Schema, path: readonly string[], follow: Follow): readonly Schema[] => {
  let present = alternatives(root, follow)
  for (const step of path)
    present = present.flatMap(({ properties, additionalProperties, items }) => {
      const next =
        step === LIST
          ? items
          : ((properties && Object.hasOwn(properties, step) && properties[step]) ??
            additionalProperties)
      const value = next === false || next === undefined ? additionalProperties : next
      return typeof value === 'object' ? alternatives(value, follow) : []
    })
  return present
}
/** A schema with all that it is made of. */
const alternatives = (reference: Schema, follow: Follow): readonly Schema[] => {
  const schema = follow(reference)
  const { anyOf = [], oneOf = [], allOf = [] } = schema
  return [schema, ...[...anyOf, ...oneOf, ...allOf].flatMap(each => alternatives(each, follow))]
}
