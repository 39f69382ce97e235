/** The text of a file of accounts: its values, and where each is, for messages about mistakes. */
import { readFileSync } from 'node:fs'
import type { Alias, Document as Tree } from 'yaml'
import { UsageError } from '../../engine/cli/kit.ts'
import type { Json } from '../../engine/plugin.ts'

export type Path = readonly string[]
/** A mistake at a place of the file, found before any change. */
export class Mistake extends Error {
  readonly path: Path
  constructor(path: Path, message: string, suggestion?: string) {
    super(suggestion === undefined ? message : `${message}; did you mean "${suggestion}"?`)
    this.path = path
  }
}

export interface SourceFile {
  readonly value: Json
  /** A UsageError with file, line and column; other errors stay. */
  usageError(error: unknown): unknown
}

/** Throws a UsageError for a file that cannot be read, or that is not YAML. `-`: standard input. */
export const readSource = async (file: string): Promise<SourceFile> => {
  // Loaded here: workers of the gateway, which never read such a file, have this module, too.
  // A CommonJS package that is bundled as a chunk of its own has its default export only.
  const { default: yaml } = await import('yaml')
  const { LineCounter, parseDocument } = yaml
  const name = file === '-' ? 'standard input' : file
  const lines = new LineCounter()
  const tree = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false })
  const messageAt = (offset: number, message: string): UsageError => {
    const { line, col } = lines.linePos(offset)
    return new UsageError(`${name}:${line}:${col}: ${message}`)
  }
  const [problem] = tree.errors
  if (problem) throw messageAt(problem.pos[0], problem.message)
  return {
    value: (tree.toJS() ?? {}) as Json,
    usageError: error =>
      error instanceof Mistake
        ? messageAt(offsetOf(tree, error.path), `${error.path.join('.')}: ${error.message}`)
        : error,
  }
}
const readText = (file: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`)
  }
}

type Node = NonNullable<Tree['contents']>
/** Where the last key of the path begins, as far as the file has it. */
const offsetOf = (tree: Tree, path: Path): number => {
  let node: unknown = tree.contents
  let offset = 0
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(tree)
    const items = (node as { readonly items?: readonly unknown[] } | null)?.items ?? []
    const next = items.find((item, index) => keyOf(item, index) === step)
    if (next === undefined) return offset
    const { key = next, value = next } = next as { readonly key?: Node; readonly value?: unknown }
    offset = (key as Node).range?.[0] ?? offset
    node = value
  }
  return offset
}
const isAlias = (node: unknown): node is Alias =>
  typeof (node as { readonly resolve?: unknown } | null)?.resolve === 'function'
const keyOf = (item: unknown, index: number): string => {
  const { key } = item as { readonly key?: { readonly value?: unknown } }
  return key === undefined ? String(index) : String(key.value)
}
