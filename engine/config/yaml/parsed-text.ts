/** Parses YAML texts in parts: one for each section at the top level, so that an edit parses the
 *  section that it changes. */
import { LRUCache } from 'lru-cache'
import { isMap, isScalar, LineCounter, parseDocument, type Document as Tree } from 'yaml'
import type { Json } from '../../plugin.ts'

/** A section, or a whole text. It depends on its text only. */
export class ParsedPart {
  readonly text: string
  /** Name of the section; undefined: it is not one map with one key, or has errors. */
  readonly section: string | undefined
  /** Undefined: not known, or it has problems or variables. The same object at each build tells
   *  that nothing has changed. */
  value: Json | undefined
  readonly #trees: Trees

  constructor(text: string, trees = createTrees()) {
    this.text = text
    this.#trees = trees
    this.section = sectionOf(this.tree)
  }
  get tree(): Tree.Parsed {
    const tree = this.#trees.get(this.text) ?? parseTree(this.text)
    this.#trees.set(this.text, tree)
    return tree
  }
}
type Trees = LRUCache<string, Tree.Parsed>
/** Trees are kept for positions and variables. One takes 60 times the memory of its text, which
 *  slows down every garbage collection: longer ones than `maxEntrySize` are parsed again. */
const createTrees = (): Trees =>
  new LRUCache<string, Tree.Parsed>({
    maxSize: 512 * 1024,
    maxEntrySize: 256 * 1024,
    sizeCalculation: sizeOf,
  })
/** Characters of the text; an empty one has a size, too. */
const sizeOf = (_: unknown, text: string): number => text.length + 1

export interface PlacedPart {
  readonly part: ParsedPart
  /** Where its text begins in the whole. */
  readonly start: number
}
/** The sections of a text, or the whole text as one part. */
export type Parts = readonly [PlacedPart, ...PlacedPart[]]

/** Characters of the texts, and of their parts, that are kept parsed. */
const MAX_SIZE = 8 * 1024 * 1024

/** Texts that were parsed lately are not parsed again. */
export const createParser = (): ((text: string) => Parts) => {
  const trees = createTrees()
  const texts = new LRUCache<string, Parts>({ maxSize: MAX_SIZE, sizeCalculation: sizeOf })
  const known = new LRUCache<string, ParsedPart>({ maxSize: MAX_SIZE, sizeCalculation: sizeOf })
  const parse = (text: string): ParsedPart => {
    const part = known.get(text) ?? new ParsedPart(text, trees)
    known.set(text, part)
    return part
  }
  const split = (text: string): Parts => {
    const starts = sectionStarts(text)
    const [first, ...others] = starts.map((start, index) => ({
      part: parse(text.slice(start, starts[index + 1])),
      start,
    }))
    const names = new Set([first, ...others].map(each => each?.part.section))
    const isSplit = !names.has(undefined) && names.size === starts.length
    return first && isSplit ? [first, ...others] : [{ part: parse(text), start: 0 }]
  }
  return text => {
    const parts = texts.get(text) ?? split(text)
    texts.set(text, parts)
    return parts
  }
}

/** What applies beyond its section, or ends a document. */
const WHOLE = /^(?:---|\.\.\.|%|\uFEFF)|(?:^|[\s,[{:-])[&*][\p{L}\p{N}_]/mu
const SECTION = /^[A-Za-z_][\w-]*:(?=\s|$)/gm
/** Where the sections of a text begin; what comes before the first belongs to it. A value that goes
 *  on over such a line leaves a section with an error, and the text is parsed as a whole. */
const sectionStarts = (text: string): readonly number[] => {
  if (WHOLE.test(text)) return []
  return Array.from(text.matchAll(SECTION), ({ index }, at) => (at === 0 ? 0 : index))
}

const sectionOf = ({ errors, warnings, contents }: Tree.Parsed): string | undefined => {
  if (errors.length > 0 || warnings.length > 0 || !isMap(contents)) return undefined
  const [pair, ...others] = contents.items
  return isScalar(pair?.key) && others.length === 0 ? String(pair.key.value) : undefined
}

const parseTree = (text: string): Tree.Parsed =>
  parseDocument(text, {
    prettyErrors: false,
    stringKeys: true,
    schema: 'core',
    resolveKnownTags: false,
    logLevel: 'error',
    // The parser would compare every pair of keys, which takes seconds for ten thousand keys.
    // The values report duplicates instead.
    uniqueKeys: false,
  })

/** The lines of a text. */
export const linesOf = (text: string): LineCounter => {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1))
    lines.addNewLine(end + 1)
  return lines
}
