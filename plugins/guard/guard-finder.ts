/** The finders of one guard as one. */
import type { HostBase } from '../../engine/plugin.ts'
import type { Finder } from '../finders/finder.ts'
import { FINDERS, findAll, openFromAll } from '../finders/index.ts'
import { patternFinder } from '../finders/patterns.ts'
import { wordsFinder } from '../finders/words.ts'
import type { TextFinder } from '../formats/hub/text.ts'
import { fault } from './faults.ts'
import type { Guard } from './section.ts'

interface GuardFinder {
  /** Undefined: the guard has none. */
  readonly finder: TextFinder | undefined
  /** The configuration of the guard, with its file of words. */
  readonly text: string
}

/** Compiled once for all routes: a list of words may be long. Throws for a pattern or a file of
 *  words that cannot be read. */
export const guardFinderOf = (name: string, guard: Guard, host: HostBase): GuardFinder =>
  host.share(`guard/${name}`, host.config.hash, () => {
    const { words_file: file } = guard
    const lines = file === undefined ? [] : wordsIn(name, file, host)
    const finders = findersOf(guard, lines)
    const finder = {
      find: (text: string) => findAll(finders, text),
      openFrom: (text: string) => openFromAll(finders, text),
    }
    return {
      finder: finders.length > 0 ? finder : undefined,
      text: JSON.stringify([name, guard, lines]),
    }
  })

const findersOf = (
  { find = [], words = [], patterns = {}, longest }: Guard,
  lines: readonly string[],
): readonly Finder[] => {
  const all = [...words, ...lines]
  return [
    ...find.map(kind => FINDERS[kind]),
    ...(all.length > 0 ? [wordsFinder(all)] : []),
    ...Object.entries(patterns).map(([label, pattern]) => patternFinder(label, pattern, longest)),
  ]
}

type Files = Pick<HostBase, 'file'>
const wordsIn = (name: string, file: string, host: Files): readonly string[] => {
  const lines = readWords(name, file, host).split('\n')
  const words = lines.map(line => line.trim()).filter(line => line !== '')
  if (words.length === 0)
    throw fault('GUARD_OPTION', [name, `${file} has no words; write one on each line`])
  return words
}
const readWords = (name: string, file: string, host: Files): string => {
  try {
    return host.file(file)
  } catch (error) {
    throw fault('GUARD_OPTION', [name, `cannot read ${file}: ${(error as Error).message}`])
  }
}
