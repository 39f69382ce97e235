/** CPU time that each finder of guards takes for a long text: prose, and texts made of what it
 *  looks for first. */
import { FINDER_NAMES, FINDERS, findAll } from '../../../plugins/finders/index.ts'
import { patternFinder } from '../../../plugins/finders/patterns.ts'
import { wordsFinder } from '../../../plugins/finders/words.ts'
import { figure, median, table } from '../tables.ts'

const SENTENCE =
  'The meeting of 24 November at 10:30 was moved; write to the office, or call room 214 (2nd floor). '
/** By name, repeated up to the size. */
const TEXTS: Readonly<Record<string, string>> = {
  prose: SENTENCE,
  letters: 'a',
  digits: '4111 1111 ',
  anchors: 'a@b.c +1 DE89 ::1 sk-proj- eyJ ignore all ',
}
const PATTERNS = { ticket: 'TCK-[0-9]{6}', nested: '(a+)+b' }

type Search = (text: string) => unknown
const searches: Readonly<Record<string, Search>> = {
  ...Object.fromEntries(
    FINDER_NAMES.map(name => [name, (text: string) => findAll([FINDERS[name]], text)]),
  ),
  words: text => findAll([wordsFinder(['project falcon', 'acquisition'])], text),
  ...Object.fromEntries(
    Object.entries(PATTERNS).map(([name, pattern]) => {
      const finder = patternFinder(name, pattern, 128)
      return [`pattern ${name}`, (text: string) => findAll([finder], text)]
    }),
  ),
}

/** ms of CPU in each round, by finder and text. */
export type FinderTimes = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>

/** `size`: characters of each text. Texts and finders take turns in each round. */
export const measureFinders = (size: number, rounds: number): FinderTimes => {
  const texts = Object.entries(TEXTS).map(
    ([name, part]) => [name, part.repeat(Math.ceil(size / part.length)).slice(0, size)] as const,
  )
  const times = new Map(
    Object.keys(searches).map(name => [
      name,
      new Map(texts.map(([text]) => [text, [] as number[]])),
    ]),
  )
  // The first round compiles the code.
  for (let round = 0; round <= rounds; round++)
    for (const [name, search] of Object.entries(searches))
      for (const [textName, text] of texts) {
        const before = process.cpuUsage()
        search(text)
        const { user, system } = process.cpuUsage(before)
        if (round > 0)
          times
            .get(name)
            ?.get(textName)
            ?.push((user + system) / 1_000)
      }
  return times
}

export const findersTable = (times: FinderTimes): string =>
  table(
    ['finder, ms of CPU', ...Object.keys(TEXTS)],
    [...times].map(([name, byText]) => [
      name,
      ...[...byText.values()].map(list => figure(median(list), 1)),
    ]),
  )
