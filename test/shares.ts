/** The files of a run: which there are, which come first, and whose share of its time each is. */
import { matchesGlob } from 'node:path'

/** Those of other folders are run by their room. */
export const FILES = ['test/rooms/*.test.ts', 'test/{journeys,laws,docs,bench,chaos}/*.test.ts']

/** Each has bounds of its own. What matches none is the engine's. */
const PATTERNS: Readonly<Record<string, readonly string[]>> = {
  money: [
    'test/rooms/{accounts,billed,database,ledger,money,postgres,prices}.test.ts',
    'test/journeys/{clock-steps,idempotency,limit,notifications,priced,two-machines,webhook,wrong-keys}*.test.ts',
    'test/chaos/*.test.ts',
    'test/docs/{accounts,limits,prices,webhooks}*.test.ts',
  ],
  formats: [
    'test/rooms/{formats,inside-formats,shipped,stored}.test.ts',
    'test/journeys/{aimock,background,counted,form,sandbox,slow-models}*.test.ts',
  ],
}
const REST = 'engine'
export const SHARES: readonly string[] = [REST, ...Object.keys(PATTERNS)]
export const shareOf = (file: string): string =>
  Object.entries(PATTERNS).find(([, patterns]) =>
    patterns.some(pattern => matchesGlob(file, pattern)),
  )?.[0] ?? REST

/** Those that take longest, and mostly wait: beside them the others find room. */
const FIRST = [
  'test/journeys/idempotency-deaths.test.ts',
  'test/rooms/{engine,ledger,postgres}.test.ts',
  'test/chaos/store-trouble.test.ts',
  'test/rooms/*.test.ts',
  'test/journeys/{background,clock-steps,format-matrix,idempotency,two-machines,worker-kill}*.test.ts',
  'test/chaos/chaos.test.ts',
  'test/docs/*.test.ts',
]
/** Those that need the machine for themselves: what a gateway does beyond its capacity is not what it does beside others. */
const LAST = 'test/journeys/overload*.test.ts'
export const inOrder = (files: readonly string[]): string[] => {
  const rank = (file: string): number => {
    if (matchesGlob(file, LAST)) return FIRST.length + 1
    const found = FIRST.findIndex(pattern => matchesGlob(file, pattern))
    return found < 0 ? FIRST.length : found
  }
  return [...new Set(files)].sort(
    (left, right) => rank(left) - rank(right) || (left < right ? -1 : 1),
  )
}
