/** CPU time that each finder of guards takes for a long text: prose, and texts made of what it
 *  looks for first. */
import { FINDER_NAMES, FINDERS, findAll } from '../../../plugins/finders/index.ts'
import { patternFinder } from '../../../plugins/finders/patterns.ts'
import { wordsFinder } from '../../../plugins/finders/words.ts'
import { figure, median, table } from '../tables.ts'

const SENTENCE =
  'The meeting of 24 November at 10:30 was moved; write to the office, or call room 214 (2nd floor). '
const CHINESE = '会议改到十一月二十四日上午，地点在二楼（214室）；请写信给办公室。'
/** By name, repeated up to the size. */
const PROSE: Readonly<Record<string, string>> = { prose: SENTENCE, 'Chinese prose': CHINESE }
/** Parts that make finders look again and again. The last ones are matches. */
const HOSTILE: Readonly<Record<string, string>> = {
  letters: 'a',
  digits: '1',
  blanks: ' ',
  '@': '@',
  '.': '.',
  ':': ':',
  '-': '-',
  '+': '+',
  '(': '(',
  _: '_',
  names: 'a@',
  'short domains': 'a@b.c ',
  'long domains': `@${'a'.repeat(255)}`,
  'many labels': `@${'a.'.repeat(127)}`,
  'long names': `${'a'.repeat(64)}@`,
  'digits apart': '4 ',
  'pairs of digits': '41 ',
  'groups of digits': '4111 1111 ',
  'twelve digits': '411111111111 x',
  'thirteen digits': '4111111111111x',
  'no cards': '4111111111112 x ',
  'area codes': '234 ',
  'country codes': '+1 ',
  'two zeros': '001 ',
  'too long for phones': '+1111111111111111 ',
  brackets: '(234) ',
  mobile: '138 1234 ',
  countries: 'DE',
  'beginnings of IBAN': 'DE89 ',
  'the longest IBAN': 'LC89 ',
  'halves of addresses': '1.1 ',
  'too many numbers': '1.1.1.1.1 ',
  times: '1:1 ',
  'hexadecimal digits': 'a:',
  'two gaps': 'a::b::c ',
  prefixes: 'sk-',
  'prefixes apart': 'sk- ',
  'prefixes of tokens': 'eyJ ',
  'prefixes and dots': `sk-sk-sk-${'.'.repeat(4096)}`,
  'names with prefixes': 'sk-learn-something-long-',
  'beginnings of keys': `-----BEGIN ${'A'.repeat(39)} `,
  'ends of keys': '-----END ',
  commands: 'ignore all ',
  'commands apart': `ignore${' '.repeat(8)}all${' '.repeat(8)}`,
  'Chinese commands': '忽略所有',
  'a word of the list': 'project ',
  'the start of a word': 'acquisitio',
  hidden: 'a\u200b',
  'full width': '１',
  'a letter that grows': 'İ',
  emails: 'a@b.cc ',
  cards: '4111 1111 1111 1111 ',
  'numbers of accounts': 'DE89370400440532013000 ',
  phones: '+491511234567 ',
  'addresses of version 4': '1.1.1.1 ',
  'addresses of version 6': '::1 ',
  secrets: `ghp_${'a1'.repeat(18)} `,
  keys: '-----BEGIN PRIVATE KEY----------END PRIVATE KEY----- eyJ ',
}
const TEXTS: Readonly<Record<string, string>> = { ...PROSE, ...HOSTILE }
const PATTERNS = { ticket: 'TCK-[0-9]{6}', nested: '(a+)+b' }

type Search = (text: string) => unknown
const ALL = FINDER_NAMES.map(name => FINDERS[name])
const searches: Readonly<Record<string, Search>> = {
  ...Object.fromEntries(
    FINDER_NAMES.map(name => [name, (text: string) => findAll([FINDERS[name]], text)]),
  ),
  words: text => findAll([wordsFinder(['project falcon', 'acquisition'])], text),
  ...Object.fromEntries(
    Object.entries(PATTERNS).map(([name, pattern]) => {
      const finder = patternFinder(name, pattern, 128)
      return [name, (text: string) => findAll([finder], text)]
    }),
  ),
  'the first seven': text => findAll(ALL, text),
}

/** ms of CPU in each round, by text and finder. */
export type FinderTimes = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>

/** `size`: characters of each text. Texts and finders take turns in each round. */
export const measureFinders = (size: number, rounds: number): FinderTimes => {
  const times = new Map(
    Object.keys(TEXTS).map(name => [
      name,
      new Map(Object.keys(searches).map(search => [search, [] as number[]])),
    ]),
  )
  // The first round compiles the code.
  for (let round = 0; round <= rounds; round++)
    for (const [name, part] of Object.entries(TEXTS)) {
      const text = part.repeat(Math.ceil(size / part.length)).slice(0, size)
      for (const [searchName, search] of Object.entries(searches)) {
        const time = cpuTimeOf(() => search(text))
        if (round > 0) times.get(name)?.get(searchName)?.push(time)
      }
    }
  return times
}
const cpuTimeOf = (run: () => unknown): number => {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Medians: a line for each text. */
export const findersTable = (times: FinderTimes): string =>
  table(
    ['text, ms of CPU', ...Object.keys(searches)],
    [...times].map(([name, bySearch]) => [
      name,
      ...[...bySearch.values()].map(list => figure(median(list), 1)),
    ]),
  )
