/** Reads a configuration: the main file and its includes, with the source position of each key and
 *  value. */
import { basename, dirname, matchesGlob, resolve } from 'node:path'
import { isFields } from '../kit.ts'
import type { Document, Json } from '../plugin.ts'
import { expandPresets } from './compile/presets.ts'
import { listFiles, readText } from './disk.ts'
import { formatPath } from './format-path.ts'
import { nearest } from './nearest.ts'
import { splitName } from './plugins/program.ts'
import { defineProblems, type Problem } from './problem.ts'
import { createParser, type Parts } from './yaml/parsed-text.ts'
import type { Path, SourceNode } from './yaml/source-positions.ts'
import { parseYaml, type YamlFile } from './yaml/yaml-file.ts'

const problem = defineProblems({
  CONFIG_MISSING:
    'no readable file %j; write one, or name another with --config or TOLLGATE_CONFIG',
  FILE_MISSING:
    'the included file %j cannot be read: correct its permissions, or remove it from %j',
  NOT_A_MAP: 'the file must contain named sections such as "routes:"',
  INCLUDE_EMPTY: 'the pattern %j matches no file',
  INCLUDE_NESTED: 'only the main file may contain %j',
  INCLUDE_KIND: 'the section %j is a %s here and a %s at %s:%d:%d; both must be of one kind',
  DUPLICATE_NAME: '%j is defined twice; first at %s:%d:%d',
})

/** Where texts come from: real files, or an archived version. All paths are absolute. */
export interface Source {
  text(path: string): string | undefined
  list(pattern: string, root: string): readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** A text that was parsed lately is not parsed again. */
  parse(text: string): Parts
}
export interface Reading {
  readonly document: Document
  /** The folder of the main file; relative paths start from it. */
  readonly root: string
  /** Texts of the main file and its includes, by displayed path (`formatPath`). */
  readonly files: ReadonlyMap<string, string>
  /** Absolute paths of files in `${file:…}`. They are read anew and not archived. */
  readonly variableFiles: readonly string[]
  readonly problems: readonly Problem[]
  /** Whether an included file is left out: references to it are not reported. */
  readonly isPartial?: boolean
  /** Whether a file cannot be parsed: checking the rest would report false problems. */
  readonly isBroken: boolean
  readonly secrets: ReadonlySet<string>
  /** Finds a key or value in all files. */
  find(where: Path): SourceNode
}

export const fileSource = (env: Source['env'] = process.env): Source => ({
  env,
  text: readText,
  list: listFiles,
  parse: parseOnce,
})
/** One for the process: what is parsed depends on its text only. */
const parseOnce = createParser()

/** The files of an earlier version; files that it does not have (secrets) are read from `now`. */
export const archivedSource = (
  root: string,
  files: Readonly<Record<string, string>>,
  now: Source,
): Source => ({
  env: now.env,
  parse: now.parse,
  text: path => files[formatPath(root, path)] ?? now.text(path),
  list: (pattern, from) => {
    const all = Object.keys(files).map(file => resolve(root, file))
    return all.filter(path => matchesGlob(path, resolve(from, pattern)))
  },
})

export const read = (path: string, source: Source): Reading => {
  const main = resolve(path)
  const root = dirname(main)
  const files = new Map<string, string>()
  const variableFiles: string[] = []
  const file = (name: string) => {
    variableFiles.push(resolve(root, name))
    return source.text(resolve(root, name))
  }
  const texts = new Map<string, string | undefined>()
  const textOf = (path: string): string | undefined => {
    if (!texts.has(path)) texts.set(path, source.text(path))
    return texts.get(path)
  }
  const open = (path: string): YamlFile => {
    const text = textOf(path) ?? ''
    files.set(formatPath(root, path), text)
    return parseYaml(formatPath(root, path), text, { env: source.env, file }, source.parse(text))
  }
  const problems: Problem[] = []
  const mainFile = open(main)
  const missing = textOf(main) === undefined
  if (missing) problems.push(missingConfig(path, main, mainFile, source))
  const allIncluded = includes(mainFile, root, { ...source, text: textOf }, problems).filter(
    each => each !== main,
  )
  const includedPaths = allIncluded.filter(each => textOf(each) !== undefined)
  const parts = [mainFile, ...includedPaths.map(open)]
  const sections = missing ? new Map() : collect(parts, problems)
  return expandPresets({
    document: Object.fromEntries(
      [...sections].map(([name, pieces]) => [name, mergePieces(name, pieces)]),
    ),
    root,
    files,
    variableFiles,
    problems: [...parts.flatMap(part => part.problems), ...problems],
    isPartial: includedPaths.length < allIncluded.length,
    isBroken: missing || parts.some(part => part.isBroken),
    secrets: new Set(parts.flatMap(part => part.secrets)),
    find: createFind(sections, mainFile),
  })
}

/** Suggests a file beside the missing one, such as routes.yml. */
const missingConfig = (path: string, main: string, mainFile: YamlFile, source: Source): Problem => {
  const beside = source.list('*.{yaml,yml}', dirname(main)).map(each => basename(each))
  const suggestion = nearest(basename(main), beside)
  return problem('CONFIG_MISSING', mainFile.find([]).place('value'), [path], suggestion)
}

/** The files of `include:`, each once, in the order of the patterns and then of their names. */
const includes = (
  mainFile: YamlFile,
  root: string,
  source: Source,
  problems: Problem[],
): string[] => {
  const patterns = isFields(mainFile.value) ? mainFile.value.include : undefined
  const files = new Set<string>()
  for (const [index, pattern] of (Array.isArray(patterns) ? patterns : []).entries()) {
    if (typeof pattern !== 'string') continue
    const [folder, path] = splitName(root, pattern)
    const matches = [...source.list(path, folder)]
    const place = mainFile.find(['include', index]).place('value')
    for (const file of matches.filter(each => source.text(each) === undefined))
      problems.push(problem('FILE_MISSING', place, [formatPath(root, file), pattern]))
    if (matches.length === 0) problems.push(problem('INCLUDE_EMPTY', place, [pattern]))
    for (const file of matches.sort()) files.add(file)
  }
  return [...files]
}

/** Absolute patterns of included files, also of files that do not exist yet. For a pattern with
 *  subfolders, the whole folder. */
export const includePatterns = ({ document: { include }, root }: Reading): string[] =>
  (Array.isArray(include) ? include : []).map(each => {
    const [from, pattern] = splitName(root, String(each))
    const [folder = ''] = /^(?:[^*?[{/]*\/)*/.exec(pattern) ?? []
    const rest = pattern.slice(folder.length)
    return resolve(from, rest.includes('/') ? folder || '.' : folder + rest)
  })
const kind = (value: Json) =>
  isFields(value) ? 'map' : Array.isArray(value) ? 'list' : 'single value'

/** Keys of the main file only: the order is defined once, and includes cannot form a cycle. */
const MAIN_FILE_KEYS = ['include', 'pipeline']

/** The part of a section in one file. */
interface Piece {
  readonly part: YamlFile
  readonly value: Json
}
type Sections = ReadonlyMap<string, readonly Piece[]>

const collect = (parts: readonly YamlFile[], problems: Problem[]): Sections => {
  const sections = new Map<string, Piece[]>()
  for (const part of parts.filter(each => each.value !== null)) {
    const own = isFields(part.value) ? Object.entries(part.value) : []
    if (!isFields(part.value)) problems.push(problem('NOT_A_MAP', part.find([]).place('value')))
    for (const [name, value] of own) {
      const pieces = sections.get(name) ?? []
      if (part !== parts[0] && MAIN_FILE_KEYS.includes(name))
        problems.push(problem('INCLUDE_NESTED', part.find([name]).place('key'), [name]))
      else if (value !== null && isMergeable(name, { part, value }, pieces, problems))
        sections.set(name, [...pieces, { part, value }])
    }
  }
  return sections
}

/** Whether a piece can be merged with those before it; reports duplicates with both places. */
const isMergeable = (
  name: string,
  { part, value }: Piece,
  pieces: readonly Piece[],
  problems: Problem[],
) => {
  const first = pieces[0]
  if (!first || (Array.isArray(value) && Array.isArray(first.value))) return true
  const report = (
    code: 'INCLUDE_KIND' | 'DUPLICATE_NAME',
    path: Path,
    other: Piece,
    args: unknown[],
  ) => {
    const { file, line, column } = other.part.find(path).place('key')
    const place = part.find(path).place('key')
    problems.push(problem(code, place, [...args, file, line, column]))
  }
  const [here, there] = [kind(value), kind(first.value)]
  if (here !== there) report('INCLUDE_KIND', [name], first, [name, here, there])
  else if (!isFields(value)) report('DUPLICATE_NAME', [name], first, [name])
  else
    for (const key of Object.keys(value)) {
      const other = pieces.find(each => isFields(each.value) && Object.hasOwn(each.value, key))
      if (other) report('DUPLICATE_NAME', [name, key], other, [key])
    }
  return here === there && isFields(value)
}

/** Concatenates lists and merges maps. Duplicate names were rejected before. The same pieces as in
 *  the reading before give the same object. */
const createMerge = () => {
  const known = new Map<string, { readonly values: readonly Json[]; readonly merged: Json }>()
  return (section: string, pieces: readonly Piece[]): Json => {
    const values = pieces.map(({ value }) => value)
    const last = known.get(section)
    if (
      last?.values.length === values.length &&
      last.values.every((each, at) => each === values[at])
    )
      return last.merged
    const merged = mergeValues(values)
    known.set(section, { values, merged })
    return merged
  }
}
const mergeValues = (values: readonly Json[]): Json => {
  if (values.length === 1) return values[0] ?? null
  return Object.freeze(Array.isArray(values[0]) ? values.flat() : Object.assign({}, ...values))
}
/** One for the process. */
const mergePieces = createMerge()

const createFind =
  (sections: Sections, mainFile: YamlFile): Reading['find'] =>
  where => {
    const [name = '', step = '', ...rest] = where
    const pieces = sections.get(String(name)) ?? []
    let index = Number(step)
    for (const { part, value } of where.length > 1 ? pieces : []) {
      if (Array.isArray(value) && index >= value.length) index -= value.length
      else if (Array.isArray(value)) return part.find([name, index, ...rest])
      else if (isFields(value) && Object.hasOwn(value, step)) return part.find(where)
    }
    return (pieces[0]?.part ?? mainFile).find(where)
  }
