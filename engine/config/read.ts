/** The text of a configuration: one main file, what it includes, and where each key and value stands. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, matchesGlob, relative, resolve, sep } from 'node:path'
import type { Document, Json } from '../plugin.ts'
import type { Path } from './places.ts'
import { type Place, type Problem, problems } from './problem.ts'
import type { Supply } from './variables.ts'
import { parseYaml, type YamlFile } from './yaml.ts'

const problem = problems({
  CONFIG_MISSING:
    'no readable file %j; write one, or name another with --config or TOLLGATE_CONFIG',
  NOT_A_MAP: 'the file must hold named sections such as "routes:"',
  INCLUDE_EMPTY: 'the pattern %j matches no file',
  INCLUDE_NESTED: 'only the main file may hold %j',
  INCLUDE_KIND: 'the section %j is a %s in %s:%d:%d and a %s here; both must be of one kind',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
})

/** Where texts come from: real files, or an archived version. All paths are absolute. */
export interface Source {
  text(path: string): string | undefined
  list(pattern: string, root: string): readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}
export interface Reading {
  readonly document: Document
  /** The folder of the main file: what relative paths start from. */
  readonly root: string
  /** The configuration's own files as operators name them (see `shownPath`), with their texts. */
  readonly files: ReadonlyMap<string, string>
  /** Absolute paths drawn in with `${file:…}`; their content is in no archive. */
  readonly drawn: readonly string[]
  readonly problems: readonly Problem[]
  /** Whether a file is spelled so badly that judging the whole would breed false problems. */
  readonly broken: boolean
  readonly secrets: ReadonlySet<string>
  place(where: Path, what?: 'key' | 'value'): Place
  written(where: Path): string
  varies(where: Path): boolean
}

export const fileSource = (env: Source['env'] = process.env): Source => ({
  env,
  text: path => {
    try {
      return statSync(path).isFile() ? readFileSync(path, 'utf8') : undefined
    } catch {
      return undefined
    }
  },
  list: (pattern, root) => globSync(pattern, { cwd: root }).map(path => resolve(root, path)),
})

/** An earlier version's files; what it does not hold (secrets in files) is read as it is now. */
export const archivedSource = (
  root: string,
  files: Readonly<Record<string, string>>,
  now: Source,
): Source => ({
  env: now.env,
  text: path => files[shownPath(root, path)] ?? now.text(path),
  list: (pattern, from) => {
    const wanted = resolve(from, pattern)
    return Object.keys(files)
      .map(file => resolve(root, file))
      .filter(path => matchesGlob(path, wanted))
  },
})

/** A path as an operator would write it: relative to `root`, absolute when outside of it. */
export const shownPath = (root: string, path: string): string => {
  const inside = relative(root, path)
  const outside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
  return outside ? path : inside.split(sep).join('/')
}

export const read = (path: string, source: Source): Reading => {
  const root = dirname(resolve(path))
  const drawn: string[] = []
  const supply: Supply = {
    env: source.env,
    file: name => {
      const wanted = resolve(root, name)
      drawn.push(wanted)
      return source.text(wanted)
    },
  }
  const texts = new Map<string, string>()
  const open = (file: string, text: string) => {
    const name = shownPath(root, file)
    texts.set(name, text)
    return parseYaml(name, text, supply)
  }
  const main = join(root, basename(path))
  const text = source.text(main)
  const head = open(main, text ?? '')
  const found: Problem[] = []
  if (text === undefined) found.push(problem('CONFIG_MISSING', head.place([], 'value'), [path]))
  const included = includes(head, root, source, found)
    .filter(file => file !== main)
    .map(file => open(file, source.text(file) ?? ''))
  const parts = [head, ...included]
  const merged = text === undefined ? new Merged() : merge(parts, found)
  const lookUp = merged.lookUp(head)
  return {
    document: merged.document,
    root,
    files: texts,
    drawn,
    problems: [...parts.flatMap(part => part.problems), ...found],
    broken: text === undefined || parts.some(part => part.broken),
    secrets: new Set(parts.flatMap(part => part.secrets)),
    place: (where, what = 'value') => {
      const [part, inside] = lookUp(where)
      return part.place(inside, what)
    },
    written: where => {
      const [part, inside] = lookUp(where)
      return part.written(inside)
    },
    varies: where => {
      const [part, inside] = lookUp(where)
      return part.varies(inside)
    },
  }
}

/** The files that `include:` names, each once, in the order of the patterns and then of their names. */
const includes = (head: YamlFile, root: string, source: Source, found: Problem[]): string[] => {
  const patterns = isMap(head.value) ? head.value.include : undefined
  const files = new Set<string>()
  for (const [index, pattern] of (Array.isArray(patterns) ? patterns : []).entries()) {
    if (typeof pattern !== 'string') continue
    const matches = [...source.list(pattern, root)].filter(file => source.text(file) !== undefined)
    if (matches.length === 0)
      found.push(problem('INCLUDE_EMPTY', head.place(['include', index], 'value'), [pattern]))
    for (const file of matches.sort()) files.add(file)
  }
  return [...files]
}

const isMap = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const kind = (value: Json) =>
  isMap(value) ? 'map' : Array.isArray(value) ? 'list' : 'single value'

/** Order is written once, and what is included may include nothing: no circle can arise. */
const HEAD_ONLY = ['include', 'pipeline']

/** One section of all files: whose words it is made of, and from which index on. */
interface Section {
  value: Json
  readonly pieces: { readonly part: YamlFile; readonly value: Json; readonly from: number }[]
}
class Merged {
  readonly sections = new Map<string, Section>()

  get document(): Document {
    return Object.fromEntries([...this.sections].map(([name, { value }]) => [name, value]))
  }
  /** The file in which a path of the whole stands, and its path there. */
  lookUp(head: YamlFile): (where: Path) => readonly [YamlFile, Path] {
    return where => {
      const [name, step, ...rest] = where
      const pieces = this.sections.get(String(name))?.pieces ?? []
      const [first] = pieces
      if (first === undefined || name === undefined) return [head, where]
      if (step === undefined) return [first.part, where]
      if (Array.isArray(first.value)) {
        const piece = pieces.findLast(({ from }) => from <= Number(step)) ?? first
        return [piece.part, [name, Number(step) - piece.from, ...rest]]
      }
      const piece = pieces.find(({ value }) => isMap(value) && Object.hasOwn(value, step)) ?? first
      return [piece.part, where]
    }
  }
}

/** Maps are united, lists are joined; what is said twice is a problem naming both places. */
const merge = (parts: readonly YamlFile[], found: Problem[]): Merged => {
  const merged = new Merged()
  for (const [index, part] of parts.entries()) {
    if (part.broken || part.value === null) continue
    if (!isMap(part.value)) {
      found.push(problem('NOT_A_MAP', part.place([], 'value')))
      continue
    }
    for (const [name, value] of Object.entries(part.value)) {
      if (index > 0 && HEAD_ONLY.includes(name))
        found.push(problem('INCLUDE_NESTED', part.place([name], 'key'), [name]))
      else if (value !== null) add(merged, name, value, part, found)
    }
  }
  return merged
}

const add = (merged: Merged, name: string, value: Json, part: YamlFile, found: Problem[]) => {
  const section = merged.sections.get(name)
  const first = section?.pieces[0]
  if (section === undefined || first === undefined) {
    merged.sections.set(name, { value, pieces: [{ part, value, from: 0 }] })
    return
  }
  const twice = (what: string, path: Path, other: YamlFile) => {
    const { file, line, column } = other.place(path, 'key')
    found.push(problem('DUPLICATE_NAME', part.place(path, 'key'), [what, file, line, column]))
  }
  if (Array.isArray(value) && Array.isArray(section.value)) {
    section.pieces.push({ part, value, from: section.value.length })
    section.value = [...section.value, ...value]
  } else if (isMap(value) && isMap(section.value)) {
    for (const key of Object.keys(value)) {
      const other = section.pieces.find(
        piece => isMap(piece.value) && Object.hasOwn(piece.value, key),
      )
      if (other) twice(key, [name, key], other.part)
    }
    section.pieces.push({ part, value, from: 0 })
    section.value = { ...value, ...section.value }
  } else if (kind(value) === kind(section.value)) twice(name, [name], first.part)
  else {
    const { file, line, column } = first.part.place([name], 'key')
    const kinds = [name, kind(section.value), file, line, column, kind(value)]
    found.push(problem('INCLUDE_KIND', part.place([name], 'key'), kinds))
  }
}
