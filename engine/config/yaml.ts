/** One YAML file: its values, what is wrong with its spelling, and where each key and value stands. */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Document as Tree,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import type { Json } from '../plugin.ts'
import { type At, finding, type Path, placeOf, placing } from './places.ts'
import { type Place, type Problem, problems } from './problem.ts'
import { type Expanded, expand, hasVariable, isSecret, type Supply } from './variables.ts'

const problem = problems({
  YAML_SYNTAX: '%s',
  YAML_TAB: 'a tab cannot indent YAML; use spaces',
  YAML_TAG: 'the tag %s is not known here; write the plain value',
  YAML_QUOTE: 'a value with ${…} between { } or [ ] must stand in quotes',
  YAML_ALIAS: 'the alias *%s points to no anchor before it',
  YAML_ALIAS_BOMB: 'the alias *%s unfolds to more than %d values; write the file without it',
  YAML_MERGE_KEY:
    'merge keys (<<) are not supported; write the keys out or use an alias as a value',
  UNSAFE_KEY: 'the key %j is not allowed',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
  VARIABLE_UNSET: 'the environment variable %s is not set and has no default',
  VARIABLE_SYNTAX: '%s is not a placeholder; write ${NAME}, ${NAME:-default} or ${file:path}',
  FILE_MISSING: 'no readable file %j',
})

/** Better words for what the parser says most often. */
const TEACH: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY:
    'a key cannot follow a value; indent it on a line of its own, or quote a value that holds ": "',
  BAD_INDENT: 'the indentation fits none of the lines above',
  MULTILINE_IMPLICIT_KEY: 'a key needs ": " after it, on the same line',
  BAD_SCALAR_START: 'a value cannot start with this character; put it in quotes',
  MULTIPLE_DOCS: 'one file holds one document; remove the line ---',
  NON_STRING_KEY: 'a key must be a word',
}
/** How many values all aliases of a file may unfold to. */
const ALIAS_LIMIT = 200_000

export interface YamlFile {
  readonly file: string
  readonly value: Json
  readonly problems: readonly Problem[]
  readonly secrets: readonly string[]
  /** Whether its spelling could not be understood; then `value` is null. */
  readonly broken: boolean
  /** Where the key or value at `path` stands; the nearest thing around it where there is none. */
  place(path: Path, what: 'key' | 'value'): Place
  has(path: Path): boolean
  /** As it is written, before variables were filled in. */
  written(path: Path): string
  /** Whether the value at `path` was (partly) given by a variable. */
  varies(path: Path): boolean
}

/** Reads one text. `value` is null when its spelling is broken: half a document would only breed false problems. */
export const parseYaml = (file: string, text: string, supply: Supply): YamlFile => {
  const lines = new LineCounter()
  const tree = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    schema: 'core',
    resolveKnownTags: false,
    logLevel: 'error',
    // Its own check compares every pair of keys: seconds for ten thousand. Ours is below.
    uniqueKeys: false,
  })
  const at = placing(file, text, lines)
  const broken = syntax(tree, text, at)
  const values = broken.length > 0 ? undefined : new Values(tree, text, at, supply)
  const find = finding(tree)
  return {
    file,
    value: values?.value ?? null,
    problems: values?.problems ?? broken,
    secrets: values?.secrets ?? [],
    broken: broken.length > 0,
    place: (path, what) => placeOf(find(path), what, at),
    has: path => find(path).exact,
    written: path => {
      const [start, end] = find(path).value?.range ?? [0, 0]
      return text.slice(start, end)
    },
    varies: path => {
      const { value } = find(path)
      return isScalar(value) && typeof value.value === 'string' && hasVariable(value.value)
    },
  }
}

/** Only the first fault of a file: what follows it is mostly its echo. */
const syntax = (tree: Tree, text: string, at: At): Problem[] => {
  const first = [...tree.errors].sort((a, b) => a.pos[0] - b.pos[0])[0]
  return first === undefined ? [] : [syntaxProblem(first, text, at)]
}
const syntaxProblem = (error: YAMLError, text: string, at: At): Problem => {
  const [start, end] = error.pos
  if (error.code === 'TAB_AS_INDENT' || text[start] === '\t') return problem('YAML_TAB', at(start))
  if (text.startsWith('${', start - 1))
    return problem('YAML_QUOTE', at(start - 1, text.indexOf('}', start) + 1))
  const words = TEACH[error.code] ?? `${error.message[0]?.toLowerCase()}${error.message.slice(1)}`
  return problem('YAML_SYNTAX', at(Math.min(start, text.length), end), [words])
}

/** Walks the tree once: plain values, with variables filled in and aliases unfolded within bounds. */
class Values {
  readonly problems: Problem[] = []
  readonly secrets: string[] = []
  readonly value: Json
  readonly #text: string
  readonly #at: At
  readonly #supply: Supply
  readonly #anchors = new Map<string, Node>()
  #unfolding: Node[] = []
  #unfolded = 0
  #bombed = false

  constructor(tree: Tree, text: string, at: At, supply: Supply) {
    this.#text = text
    this.#at = at
    this.#supply = supply
    this.value = this.#read(tree.contents)
  }
  #read(node: unknown): Json {
    if (this.#unfolding.length > 0 && ++this.#unfolded > ALIAS_LIMIT) return null
    if (isAlias(node)) return this.#alias(node)
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return null
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    if (
      node.tag !== undefined &&
      !/^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/.test(node.tag)
    )
      this.#report('YAML_TAG', node, [node.tag])
    if (isMap(node)) return this.#map(node)
    if (isSeq(node)) return node.items.map(item => this.#read(item))
    return typeof node.value === 'string' ? this.#string(node, node.value) : (node.value as Json)
  }
  #map(node: YAMLMap): Json {
    const map: { [key: string]: Json } = {}
    const seen = new Map<string, Node>()
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue
      const name = String(key.value)
      const first = seen.get(name)
      if (first?.range) {
        const { file, line, column } = this.#at(first.range[0])
        this.#report('DUPLICATE_NAME', key, [name, file, line, column])
      } else if (name === '<<') this.#report('YAML_MERGE_KEY', key)
      else if (name === '__proto__') this.#report('UNSAFE_KEY', key, [name])
      else map[name] = this.#read(value)
      seen.set(name, key)
    }
    return map
  }
  #string(node: Node, text: string): string {
    const { text: expanded, drawn, faults } = expand(text, this.#supply)
    for (const fault of faults) this.#reportVariable(node, fault)
    this.secrets.push(...drawn.filter(isSecret))
    return expanded
  }
  #reportVariable(node: Node, fault: Expanded['faults'][number]) {
    const [start = 0, end = 0] = node.range ?? []
    const found = this.#text.indexOf(fault.placeholder, start)
    // A placeholder folded over two lines is not found as written: then its value is the place.
    const inside = found >= start && found < end
    const place = inside ? this.#at(found, found + fault.placeholder.length) : this.#at(start, end)
    this.problems.push(problem(fault.code, place, [fault.name], fault.suggestion))
  }
  #alias(node: Node & { source: string }): Json {
    const target = this.#anchors.get(node.source)
    if (target === undefined || this.#unfolding.includes(target)) {
      this.#report('YAML_ALIAS', node, [node.source])
      return null
    }
    this.#unfolding.push(target)
    const value = this.#read(target)
    this.#unfolding.pop()
    if (this.#unfolding.length === 0 && this.#unfolded > ALIAS_LIMIT && !this.#bombed) {
      this.#bombed = true
      this.#report('YAML_ALIAS_BOMB', node, [node.source, ALIAS_LIMIT])
    }
    return value
  }
  #report(code: Parameters<typeof problem>[0], node: Node, args: readonly unknown[] = []) {
    const [start = 0, end = 0] = node.range ?? []
    this.problems.push(problem(code, this.#at(start, end), args))
  }
}
