/** A source of configuration files that records what is read from it. */
import type { Source } from '../../config/read.ts'
import { readSettings } from '../../config/settings.ts'
import type { Inputs } from './start-record.ts'

/** `inputs()`: what has been read so far, `sources` beside it. `text()`: the texts as they were
 *  read. */
export const recordReads = (source: Source) => {
  const texts = new Map<string, string | undefined>()
  const lists = new Map<string, readonly [pattern: string, root: string]>()
  const variables = new Set(['TOLLGATE_PLUGINS'])
  const env = new Proxy(source.env, {
    get: (target, name: string) => {
      variables.add(name)
      return target[name]
    },
  })
  const recording: Source = {
    env,
    parse: source.parse,
    text: path => {
      const text = source.text(path)
      texts.set(path, text)
      return text
    },
    list: (pattern, root) => {
      lists.set(`${root}\n${pattern}`, [pattern, root])
      return source.list(pattern, root)
    },
  }
  const inputs = (sources: readonly string[]): Inputs => {
    // Its defaults come from variables, which a snapshot reads by itself.
    readSettings({}, env)
    return {
      texts: [...texts.keys()],
      lists: [...lists.values()],
      variables: [...variables],
      sources,
    }
  }
  return { source: recording, inputs, text: (path: string) => texts.get(path) }
}
export type RecordedReads = ReturnType<typeof recordReads>
