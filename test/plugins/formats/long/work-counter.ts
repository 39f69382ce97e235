/** Counts the work of a function in steps, which are the same in every run: blocks of code that
 *  the engine counts, and elements that built-in functions visit or copy. For a worker thread of
 *  its own: it replaces built-in functions and resets the coverage of its thread. */
import { Session } from 'node:inspector/promises'

export interface WorkCounter {
  /** The steps of `run`, in the modules that were loaded after the counter was made. */
  count(run: () => void): Promise<number>
}

export const createWorkCounter = async (): Promise<WorkCounter> => {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const elements = countElements()
  const takeBlocks = async (): Promise<number> => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    let sum = 0
    for (let script = 0; script < result.length; script++) sum += blocksOf(result[script])
    return sum
  }
  return {
    async count(run) {
      await takeBlocks()
      const before = elements.sum
      run()
      const visited = elements.sum - before
      return (await takeBlocks()) + visited
    },
  }
}

type Script = { url: string; functions: { ranges: { count: number }[] }[] } | undefined
const blocksOf = (script: Script): number =>
  script && /\/(?:engine|plugins)\//.test(script.url)
    ? script.functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0)
    : 0

/** Of arrays, sets and maps: what is visited by an iterator, spread, or copied by a method. */
const countElements = (): { sum: number } => {
  const elements = { sum: 0 }
  const wrap = (
    owner: object,
    name: string | symbol,
    size: (self: never, result: never, args: never[]) => number,
  ): void => {
    const original = Reflect.get(owner, name) as (...args: unknown[]) => unknown
    const counted = function (this: never, ...args: never[]) {
      const result = Reflect.apply(original, this, args)
      elements.sum += size(this, result as never, args)
      return result
    }
    Object.defineProperty(owner, name, { value: counted, writable: true, configurable: true })
  }
  const ofSelf = (self: { readonly length: number }): number => self.length
  const ofResult = (_: unknown, result: { readonly length: number }): number => result.length
  const ofIndex = (self: { readonly length: number }, result: number | boolean): number =>
    typeof result === 'number' && result >= 0 ? result + 1 : self.length
  for (const name of ['join', 'reverse', 'shift', 'unshift', 'splice', 'sort', 'fill'])
    wrap(Array.prototype, name, ofSelf)
  for (const name of ['slice', 'concat', 'flat', 'flatMap', 'with', 'toSorted', 'toSpliced'])
    wrap(Array.prototype, name, ofResult)
  for (const name of ['indexOf', 'lastIndexOf', 'includes']) wrap(Array.prototype, name, ofIndex)
  wrap(Array.prototype, 'push', (_: unknown, __: unknown, args: readonly unknown[]) => args.length)
  for (const name of ['keys', 'entries', 'values', 'fromEntries', 'assign'])
    wrap(Object, name, (_: unknown, result: object) => Reflect.ownKeys(result).length)
  for (const name of ['indexOf', 'includes', 'split', 'replace', 'replaceAll', 'trim', 'match'])
    wrap(String.prototype, name, (self: string) => Math.ceil(self.length / 64))
  for (const name of ['test', 'exec'])
    wrap(RegExp.prototype, name, (_: unknown, __: unknown, [text]: readonly unknown[]) =>
      Math.ceil(String(text).length / 64),
    )
  for (const name of ['concat', 'from', 'byteLength'])
    wrap(Buffer, name, (_: unknown, result: { readonly length: number } | number) =>
      Math.ceil((typeof result === 'number' ? result : result.length) / 64),
    )
  wrap(JSON, 'stringify', (_: unknown, result: string | undefined) =>
    Math.ceil((result?.length ?? 0) / 64),
  )
  wrap(JSON, 'parse', (_: unknown, __: unknown, [text]: readonly unknown[]) =>
    Math.ceil(String(text).length / 64),
  )
  const iterators = [[][Symbol.iterator](), new Map()[Symbol.iterator](), new Set().values()]
  for (const iterator of iterators) wrap(Object.getPrototypeOf(iterator), 'next', () => 1)
  return elements
}
