/** Parses a YAML file: values, syntax problems, and source positions of keys and values. */
import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Document as Tree,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import type { Json } from '../../plugin.ts'
import { defineProblems, type Problem } from '../problem.ts'
import type { ParsedPart, Parts, PlacedPart, SplitSection } from './parsed-text.ts'
import {
  createFind,
  createPlaceOf,
  type Path,
  type PlaceOf,
  type SourceNode,
  shift,
} from './source-positions.ts'
import { expand, isSecret, type VariableSource } from './variables.ts'

const problem = defineProblems({
  YAML_SYNTAX: '%s',
  YAML_ENCODING: 'the file is UTF-16, or no text; save it as UTF-8',
  YAML_TAB: 'YAML cannot be indented with tabs; use spaces',
  YAML_UNCLOSED: 'the %s is never closed',
  YAML_COMMA:
    'a comma begins another entry, so %j is read as two; write decimals with a point (1.5), and thousands without a separator',
  YAML_TAG: 'the tag %s is not supported; write the plain value',
  YAML_QUOTE: 'a value with ${…} between { } or [ ] must be quoted',
  YAML_ALIAS: 'the alias *%s has no anchor before it',
  YAML_ALIAS_BOMB: 'the alias *%s expands to more than %d values; write the file without it',
  YAML_MERGE_KEY:
    'merge keys (<<) are not supported; write the keys out or use an alias as a value',
  UNSAFE_KEY: 'the key %j is not allowed',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
  VARIABLE_UNSET: 'the environment variable %s is not set and has no default',
  VARIABLE_SYNTAX: '%s is not a placeholder; write ${NAME}, ${NAME:-default} or ${file:path}',
  FILE_MISSING: 'no readable file %j',
})
/** Error code of the recursive parser when the nesting exhausts the stack. */
const TOO_DEEP = 'RESOURCE_EXHAUSTION'
/** Clearer messages for the most frequent parser errors. */
const MESSAGES: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY:
    'a key cannot follow a value; indent it on a line of its own, or quote a value that holds ": "',
  BAD_INDENT:
    'the indentation is wrong: the keys of a map begin in one column, as do the dashes of a list',
  MULTILINE_IMPLICIT_KEY: 'a key needs ": " after it, on the same line',
  BAD_SCALAR_START: 'a value cannot start with this character; put it in quotes',
  MULTIPLE_DOCS: 'a file may contain one document only; remove the line ---',
  NON_STRING_KEY: 'a key must be a string',
  SEQUENCE_ITEM:
    'an item of this list must begin with "- " in the column of the others; indent this line deeper to continue the item above',
  [TOO_DEEP]: 'the nesting is too deep; no configuration needs so many levels',
}
/** Values to which all aliases of a file may expand. */
const ALIAS_LIMIT = 200_000
const TAGS = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/

export interface YamlFile {
  /** Null after a syntax error: a partial document would only cause false problems. */
  readonly value: Json
  readonly isBroken: boolean
  readonly problems: readonly Problem[]
  readonly secrets: readonly string[]
  find(path: Path): SourceNode
}

/** `parts`: of the text, as parsed. */
export const parseYaml = (
  file: string,
  text: string,
  variables: VariableSource,
  parts: Parts,
): YamlFile => {
  if (/^\uFFFD{2}|\0/.test(text)) return notUtf8(file)
  const at = createPlaceOf(file, text)
  const find = createFind(parts, at)
  const [{ part }] = parts
  // Only the first error of a file is reported, since the others mostly follow from it. If the
  // parser exhausted the stack, the earlier errors follow from that.
  // A part with a key has none.
  const tree = 'entries' in part || part.key !== undefined ? undefined : part.tree
  const errors = tree?.errors.toSorted((a, b) => a.pos[0] - b.pos[0]) ?? []
  const error = errors.find(({ code }) => code === TOO_DEEP) ?? errors[0]
  if (tree && error) {
    const fault = syntaxProblem(error, tree, text, at)
    return { value: null, isBroken: true, problems: [fault], secrets: [], find }
  }
  const values = parts.map(each => readValue(each, at, variables))
  const problems = values.flatMap(each => each.problems)
  return {
    value: join(values.map(each => each.value)),
    isBroken: values.some(each => each.hasDuplicateSection) || problems.some(isSyntaxCode),
    problems,
    secrets: values.flatMap(each => each.secrets),
    find,
  }
}
/** Joins the values of parts: maps to one map, lists to one list. */
const join = (values: readonly Json[]): Json => {
  const [first = null, ...others] = values
  if (others.length === 0) return first
  if (Array.isArray(first)) return Object.freeze(values.flat())
  const map = {}
  for (const each of values) Object.assign(map, each)
  return Object.freeze(map)
}

type PartValue = Pick<Values, 'problems' | 'secrets' | 'hasDuplicateSection'> & {
  readonly value: Json
}
const readValue = (
  { part, start }: PlacedPart,
  at: PlaceOf,
  variables: VariableSource,
): PartValue => {
  if (part.value !== undefined) return { value: part.value, ...NO_PROBLEMS }
  const placeOf = shift(at, start)
  const result =
    'entries' in part
      ? readEntries(part, placeOf, variables)
      : readTree(part, new Values(part.text, placeOf, variables))
  if (result.problems.length === 0 && !part.text.includes('${')) part.value = result.value
  return result
}
const readTree = ({ tree }: ParsedPart, values: Values): PartValue => {
  const value = values.read(tree.contents)
  const { problems, secrets, hasDuplicateSection } = values
  return { value, problems, secrets, hasDuplicateSection }
}
const readEntries = (
  { key, entries }: SplitSection,
  at: PlaceOf,
  variables: VariableSource,
): PartValue => {
  const values = entries.map(each => readValue(each, at, variables))
  return {
    value: Object.freeze({ [key]: join(values.map(each => each.value)) }),
    problems: values.flatMap(each => each.problems),
    secrets: values.flatMap(each => each.secrets),
    hasDuplicateSection: false,
  }
}
const NO_PROBLEMS = { problems: [], secrets: [], hasDuplicateSection: false }

const notUtf8 = (file: string): YamlFile => {
  const place = { file, line: 1, column: 1 }
  const find = () => ({ place: () => place, source: '', hasVariable: false })
  const problems = [problem('YAML_ENCODING', place)]
  return { value: null, isBroken: true, problems, secrets: [], find }
}

const isSyntaxCode = ({ code }: Problem) => code.startsWith('YAML_')

const syntaxProblem = (
  { code, message, pos: [start, end] }: YAMLError,
  tree: Tree,
  text: string,
  at: PlaceOf,
): Problem => {
  const line = text.lastIndexOf('\n', start - 1) + 1
  const tab = /^ *\t/.exec(text.slice(line))
  if (tab) return problem('YAML_TAB', at(line + tab[0].length - 1))
  const opener = code === TOO_DEEP ? undefined : openerOf(tree, start)
  if (opener !== undefined) return problem('YAML_UNCLOSED', at(opener), [text[opener]])
  if (text.startsWith('${', start - 1))
    return problem('YAML_QUOTE', at(start - 1, text.indexOf('}', start) + 1))
  const isItem = /sequence item without - indicator/i.test(message)
  const kind = message.startsWith('A block sequence')
    ? 'BAD_INDENT'
    : isItem
      ? 'SEQUENCE_ITEM'
      : code
  const explanation = MESSAGES[kind] ?? `${message.charAt(0).toLowerCase()}${message.slice(1)}`
  return problem('YAML_SYNTAX', at(Math.min(start, text.length), end), [explanation])
}

/** Position of the quote or bracket that is not closed at the error. */
const openerOf = (tree: Tree, end: number): number | undefined => {
  let start: number | undefined
  visit(tree, {
    Node: (_key, node) => {
      const opens = isScalar(node)
        ? node.type?.startsWith('QUOTE')
        : isCollection(node) && node.flow
      if (opens && node.range?.[1] === end) start = node.range[0]
    },
  })
  return start
}

/** Converts the tree to plain values, with variables and aliases expanded. They are frozen: a value
 *  is used by every version until its file changes. */
class Values {
  readonly problems: Problem[] = []
  readonly secrets: string[] = []
  /** Whether a section is defined twice. The second part is not read, so unknown references must
   *  not be reported. */
  hasDuplicateSection = false
  readonly #text: string
  readonly #at: PlaceOf
  readonly #variables: VariableSource
  readonly #anchors = new Map<string, Node>()
  readonly #expanding: Node[] = []
  #expandedCount = 0
  #depth = 0

  constructor(text: string, at: PlaceOf, variables: VariableSource) {
    this.#text = text
    this.#at = at
    this.#variables = variables
  }
  read(node: unknown): Json {
    if (this.#expanding.length > 0 && ++this.#expandedCount > ALIAS_LIMIT) return null
    if (isAlias(node)) return this.#alias(node)
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return null
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    if (node.tag !== undefined && !TAGS.test(node.tag)) this.#tag(node, node.tag)
    if (isMap(node)) return this.#map(node)
    if (isSeq(node)) return Object.freeze(node.items.map(item => this.read(item)))
    return typeof node.value === 'string' ? this.#string(node, node.value) : (node.value as Json)
  }
  #map({ items }: YAMLMap): Json {
    const map: { [key: string]: Json } = {}
    const keys = new Map<string, Node>()
    const isOutermost = this.#depth++ === 0
    for (const { key, value } of items) {
      if (!isScalar(key)) continue
      if (value === null && this.#reportComma(key)) continue
      const name = String(key.value)
      const first = keys.get(name)
      if (first?.range) {
        const { file, line, column } = this.#at(first.range[0])
        this.#report('DUPLICATE_NAME', key, [name, file, line, column])
        this.hasDuplicateSection ||= isOutermost
      } else if (name === '<<') this.#report('YAML_MERGE_KEY', key)
      else if (name === '__proto__') this.#report('UNSAFE_KEY', key, [name])
      else map[name] = this.read(value)
      keys.set(name, key)
    }
    this.#depth--
    return Object.freeze(map)
  }
  /** `{ input: 1,5 }`: a key without a value that goes on a number. */
  #reportComma({ range }: Node): boolean {
    const [start = 0, end = 0] = range ?? []
    const [before] = /\d[\d.]*,$/.exec(this.#text.slice(0, start)) ?? []
    if (before === undefined || !/\d/.test(this.#text[start] ?? '')) return false
    const from = start - before.length
    const place = this.#at(from, end)
    this.problems.push(problem('YAML_COMMA', place, [this.#text.slice(from, end)]))
    return true
  }
  #string(node: Node, source: string): string {
    const { text, values: substitutions, faults } = expand(source, this.#variables)
    const [start = 0, end = 0] = node.range ?? []
    for (const { code, name, placeholder, suggestion } of faults) {
      const position = this.#text.indexOf(placeholder, start)
      // A placeholder that is folded over two lines is not found; its place is the whole value.
      const isInside = position >= start && position < end
      const place = isInside
        ? this.#at(position, position + placeholder.length)
        : this.#at(start, end)
      this.problems.push(problem(code, place, [name], suggestion))
    }
    this.secrets.push(...substitutions.filter(isSecret))
    return text
  }
  #tag({ range }: Node, tag: string) {
    const [before = ''] = /!\S*\s*$/.exec(this.#text.slice(0, range?.[0])) ?? []
    const start = (range?.[0] ?? 0) - before.length
    const name = tag.replace('tag:yaml.org,2002:', '!!')
    this.problems.push(problem('YAML_TAG', this.#at(start, start + before.length), [name]))
  }
  #alias(node: Node & { source: string }): Json {
    const target = this.#anchors.get(node.source)
    if (target === undefined || this.#expanding.includes(target)) {
      this.#report('YAML_ALIAS', node, [node.source])
      return null
    }
    const before = this.#expandedCount
    this.#expanding.push(target)
    const value = this.read(target)
    this.#expanding.pop()
    // Reported once: at the outermost alias that exceeds the limit.
    if (this.#expanding.length === 0 && before <= ALIAS_LIMIT && this.#expandedCount > ALIAS_LIMIT)
      this.#report('YAML_ALIAS_BOMB', node, [node.source, ALIAS_LIMIT])
    return value
  }
  #report(code: Parameters<typeof problem>[0], { range }: Node, args: readonly unknown[] = []) {
    this.problems.push(problem(code, this.#at(range?.[0] ?? 0, range?.[1]), args))
  }
}
