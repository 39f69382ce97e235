/** Shows the places of source files in stacks. Node's own reader of source maps would keep 64 MB
 *  for the plugins' bundle in each process: this one keeps the text, and where its lines begin. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The members of a source map (ECMA-426) that are read. */
interface MapFile {
  readonly sources: readonly string[]
  readonly mappings: string
}
/** A place in `mappings`, and the values that the next mapping is relative to; all from 0. */
interface Cursor {
  /** The next character of `mappings`. */
  at: number
  /** In the bundle. */
  column: number
  source: number
  sourceLine: number
  sourceColumn: number
}
interface LineMap extends MapFile {
  /** At the begin of each line of the bundle. */
  readonly lines: readonly Cursor[]
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const DIGITS = new Uint8Array(128)
for (const [value, digit] of [...BASE64].entries()) DIGITS[digit.charCodeAt(0)] = value
const FIELDS = ['column', 'source', 'sourceLine', 'sourceColumn'] as const

/** Reads one mapping, to the comma or semicolon behind it. Returns how many fields it has; only
 *  one with all of FIELDS leads to a source. */
const readMapping = (text: string, cursor: Cursor): number => {
  let count = 0
  let value = 0
  let shift = 0
  for (; cursor.at < text.length; cursor.at++) {
    const code = text.charCodeAt(cursor.at)
    if (code === COMMA || code === SEMICOLON) break
    const digit = DIGITS[code] ?? 0
    value |= (digit & 31) << shift
    shift += 5
    if (digit & 32) continue
    // The lowest bit is the sign.
    const field = FIELDS[count++]
    if (field) cursor[field] += value & 1 ? -(value >> 1) : value >> 1
    value = 0
    shift = 0
  }
  return count
}
const [COMMA, SEMICOLON] = [44, 59]

/** `path`: of the map. Throws if it cannot be read. */
export const readMap = (path: string): LineMap => {
  const { sources, mappings } = JSON.parse(readFileSync(path, 'utf8')) as MapFile
  const cursor: Cursor = { at: 0, column: 0, source: 0, sourceLine: 0, sourceColumn: 0 }
  const lines = [{ ...cursor }]
  for (; cursor.at < mappings.length; cursor.at++) {
    readMapping(mappings, cursor)
    if (mappings.charCodeAt(cursor.at) !== SEMICOLON) continue
    cursor.column = 0
    lines.push({ ...cursor, at: cursor.at + 1 })
  }
  return { sources, mappings, lines }
}
/** The place in a source of a place in the bundle, by the last mapping at or before its column.
 *  `line` and `column` count from 0. */
export const sourceOf = ({ lines, mappings, sources }: LineMap, line: number, column: number) => {
  const start = lines[line]
  if (!start) return
  const cursor = { ...start }
  let last: Cursor | undefined
  do {
    const count = readMapping(mappings, cursor)
    if (cursor.column > column) break
    if (count > 0) last = count < FIELDS.length ? undefined : { ...cursor }
  } while (mappings.charCodeAt(cursor.at++) === COMMA)
  return last && { ...last, source: sources[last.source] ?? '' }
}

/** Finds the map beside a file, if there is one; reads each once. */
const createMaps = () => {
  const maps = new Map<string, LineMap | undefined>()
  return (path: string): LineMap | undefined => {
    const file = `${path}.map`
    if (!maps.has(path)) maps.set(path, existsSync(file) ? readMap(file) : undefined)
    return maps.get(path)
  }
}
type Maps = ReturnType<typeof createMaps>

/** A place in a bundle as it is written in a stack. */
const PLACE = /(file:\/\/[^\s()]+\.[mc]js):(\d+):(\d+)/

/** A line of a stack, with the place in the source file in place of that in the bundle. */
const mapFrame = (frame: string, mapOf: Maps): string => {
  const [text, url = '', line, column] = PLACE.exec(frame) ?? []
  if (text === undefined) return frame
  const path = fileURLToPath(url)
  const map = mapOf(path)
  const place = map && sourceOf(map, Number(line) - 1, Number(column) - 1)
  if (!place) return frame
  const source = resolve(dirname(path), place.source)
  return frame.replace(text, `${source}:${place.sourceLine + 1}:${place.sourceColumn + 1}`)
}

/** Marks the function that this module has installed. */
const INSTALLED = Symbol('stacks show source files')
type Prepare = NonNullable<typeof Error.prepareStackTrace>

/** From now on, stacks of this process show source files instead of bundles. */
export const mapStacks = (): void => {
  if (Error.prepareStackTrace && INSTALLED in Error.prepareStackTrace) return
  const mapOf = createMaps()
  const prepare: Prepare = (error, frames) => {
    const lines = frames.map(frame => {
      const text = String(frame)
      return `    at ${tryOr(() => mapFrame(text, mapOf), text)}`
    })
    return [tryOr(() => String(error), 'Error'), ...lines].join('\n')
  }
  Error.prepareStackTrace = Object.assign(prepare, { [INSTALLED]: true })
}
/** A stack is also made for errors whose members throw, and while a map cannot be read. */
const tryOr = (make: () => string, otherwise: string): string => {
  try {
    return make()
  } catch {
    return otherwise
  }
}
