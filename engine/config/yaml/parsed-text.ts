/** Parses YAML texts in parts: one for each section at the top level, and in it one for each entry,
 *  so that an edit parses the entry that it changes. */
import { LRUCache } from 'lru-cache'
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document as Tree } from 'yaml'
import type { Json } from '../../plugin.ts'
import { keepByText, sizeOf } from '../keep-by-text.ts'

/** A parsed text: that of a file, of a section, or of an entry of a section. */
export class ParsedPart {
  readonly text: string
  /** Its only key, or `ITEM` for an only item; undefined: it has other content, or errors. */
  readonly key: string | undefined
  /** Undefined: not known, or it has problems or variables. The same object at each build tells
   *  that nothing has changed. */
  value: Json | undefined
  readonly #trees: Trees

  constructor(text: string, trees = createTrees()) {
    this.text = text
    this.#trees = trees
    this.key = onlyKeyOf(this.tree)
  }
  get tree(): Tree.Parsed {
    const tree = this.#trees.get(this.text) ?? parseTree(this.text)
    this.#trees.set(this.text, tree)
    return tree
  }
}
/** A section whose entries are parsed one by one. */
export interface SplitSection {
  readonly text: string
  readonly key: string
  /** Where its key begins. */
  readonly keyAt: number
  readonly isList: boolean
  readonly entries: readonly [PlacedEntry, ...PlacedEntry[]]
  value: Json | undefined
}
interface PlacedEntry {
  readonly part: ParsedPart
  /** Where its text begins in that of the section. */
  readonly start: number
}
export interface PlacedPart {
  readonly part: ParsedPart | SplitSection
  /** Where its text begins in the whole. */
  readonly start: number
}
/** The sections of a text, or the whole text as one part. */
export type Parts = readonly [PlacedPart, ...PlacedPart[]]

type Trees = LRUCache<string, Tree.Parsed>
/** Trees are kept for positions and variables. One takes 60 times the memory of its text, which
 *  slows down every garbage collection: longer ones than `maxEntrySize` are parsed again. */
const createTrees = (): Trees =>
  new LRUCache<string, Tree.Parsed>({
    maxSize: 512 * 1024,
    maxEntrySize: 256 * 1024,
    sizeCalculation: sizeOf,
  })
/** Texts that were parsed lately are not parsed again. */
export const createParser = (): ((text: string) => Parts) => {
  const trees = createTrees()
  const parse = keepByText(text => new ParsedPart(text, trees))
  const openings = new LRUCache<string, true>({ max: MAX_OPENINGS })
  const parseSection = keepByText(text => {
    const [opening = text] = OPENING.exec(text) ?? []
    // Parsing a section as a whole is faster: its entries are parsed once it has been edited.
    const isEdited = openings.has(opening)
    openings.set(opening, true)
    return (isEdited ? splitSection(text, parse) : undefined) ?? parse(text)
  })
  return keepByText(text => {
    const starts = sectionStarts(text)
    const slices = slicesAt(starts, text)
    const [first, ...others] = areSeparate(slices.map(each => each.text))
      ? slices.map(each => ({ part: parseSection(each.text), start: each.start }))
      : []
    const hasKeys = haveOwnKeys([first, ...others].map(each => each?.part.key))
    return first && hasKeys ? [first, ...others] : [{ part: parse(text), start: 0 }]
  })
}

/** The pieces of a text that begin at these places, each up to the next. */
const slicesAt = (starts: readonly number[], text: string) =>
  starts.map((start, index) => ({ start, text: text.slice(start, starts[index + 1]) }))
/** Whether each part is a map with one key, which no other has. */
const haveOwnKeys = (keys: readonly (string | undefined)[]): boolean =>
  new Set(keys).size === keys.length && !keys.includes(undefined) && !keys.includes(ITEM)

/** Marks that end a YAML document or apply to all of it, where a text is not split. */
const WHOLE = /^(?:---|\.\.\.|%|\uFEFF)/m
/** An anchor or an alias, or a text that looks like one. */
const REFERENCE = /(?:^|[\s,[{:-])([&*])([^\s,[\]{}]*[\p{L}\p{N}_][^\s,[\]{}]*)/gmu
/** Whether each alias has its anchor in the same text, and no other text has an anchor of the
 *  name. */
const areSeparate = (texts: readonly string[]): boolean => {
  const anchors = new Set<string>()
  return texts.every(text => {
    const references = [...text.matchAll(REFERENCE)]
    const own = new Set(references.flatMap(([, mark, name = '']) => (mark === '&' ? name : [])))
    if ([...own].some(name => anchors.has(name))) return false
    for (const name of own) anchors.add(name)
    return references.every(([, mark, name = '']) => mark === '&' || own.has(name))
  })
}
const SECTION = /^[A-Za-z_][\w-]*:(?=\s|$)/gm
/** Where the sections of a text begin; what comes before the first belongs to it. A value that goes
 *  on over such a line leaves a section with an error, and the text is parsed as a whole. */
const sectionStarts = (text: string): readonly number[] => {
  if (WHOLE.test(text)) return []
  return Array.from(text.matchAll(SECTION), ({ index }, at) => (at === 0 ? 0 : index))
}

/** The key of a section and of its first entry: the same ones in another text tell of an edit. */
const OPENING = /^(?:.*\n)*?[A-Za-z_][\w-]*:.*\n[^:\n]*/
const MAX_OPENINGS = 500
/** A key with nothing but a comment behind it, and the indentation of what follows. */
const HEAD =
  /^((?:[ \t]*(?:#.*)?\r?\n)*)([A-Za-z_][\w-]*):[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*( *)(-(?=\s))?/
/** Returns undefined if the section has no entries, or if they cannot be parsed one by one. */
const splitSection = (
  text: string,
  parse: (text: string) => ParsedPart,
): SplitSection | undefined => {
  const [head, before = '', key = '', indent = '', dash] = HEAD.exec(text) ?? []
  if (head === undefined || (indent === '' && dash === undefined)) return undefined
  if (text.search(REFERENCE) >= 0) return undefined
  const entry = dash === undefined ? '[^\\s#-]' : '-(?=\\s)'
  const matches = text.matchAll(new RegExp(`^${indent}${entry}`, 'gm'))
  const from = head.length - indent.length - (dash?.length ?? 0)
  const starts = Array.from(matches, ({ index }) => index).filter(index => index >= from)
  const [first, ...others] = slicesAt(starts, text).map(each => ({
    part: parse(each.text),
    start: each.start,
  }))
  const keys = [first, ...others].map(each => each?.part.key)
  const isList = dash !== undefined
  const isSplit = isList ? keys.every(each => each === ITEM) : haveOwnKeys(keys)
  if (!first || first.start !== from || !isSplit) return undefined
  return { text, key, keyAt: before.length, isList, entries: [first, ...others], value: undefined }
}

/** Stands for the key of an item; no text of YAML has it. */
const ITEM = '\0item'
const onlyKeyOf = ({ errors, warnings, contents }: Tree.Parsed): string | undefined => {
  if (errors.length > 0 || warnings.length > 0) return undefined
  if (isSeq(contents)) return contents.items.length === 1 && !contents.flow ? ITEM : undefined
  if (!isMap(contents) || contents.flow) return undefined
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
