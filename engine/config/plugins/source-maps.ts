/** Shows the places of source files in stacks. Each source map is read when a stack needs it: Node
 *  would keep the maps of all loaded files in memory. */
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Finds the map beside a file, if there is one; reads each once. */
const createMaps = () => {
  const maps = new Map<string, SourceMap | undefined>()
  return (path: string): SourceMap | undefined => {
    if (!maps.has(path)) maps.set(path, readMap(`${path}.map`))
    return maps.get(path)
  }
}
type Maps = ReturnType<typeof createMaps>
const readMap = (file: string): SourceMap | undefined =>
  existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined

/** A place in a bundle as it is written in a stack. */
const PLACE = /(file:\/\/[^\s()]+\.[mc]js):(\d+):(\d+)/

/** A line of a stack, with the place in the source file in place of that in the bundle. */
const mapFrame = (frame: string, mapOf: Maps): string => {
  const [text, url = '', line, column] = PLACE.exec(frame) ?? []
  if (text === undefined) return frame
  const path = fileURLToPath(url)
  const entry = mapOf(path)?.findEntry(Number(line) - 1, Number(column) - 1)
  if (!entry || !('originalSource' in entry)) return frame
  const source = resolve(dirname(path), entry.originalSource)
  return frame.replace(text, `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`)
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
