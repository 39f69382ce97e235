/** The files of a run: which there are, which come first, and whose share of its time each is. */
import { matchesGlob } from 'node:path'

/** Those of other folders are run by their room. */
export const FILES = ['test/rooms/*.test.ts', 'test/{journeys,laws,docs,bench,chaos}/**/*.test.ts']

const SHARES: Readonly<Record<string, readonly string[]>> = {
  money: [
    'test/rooms/{money,postgres}.test.ts',
    'test/journeys/{account,billed,idempotency,limit,notifications,two-machines,webhook}*.test.ts',
    'test/chaos/*.test.ts',
    'test/docs/{accounts,limits,prices,webhooks}*.test.ts',
  ],
}
export const shareOf = (file: string): string =>
  Object.entries(SHARES).find(([, patterns]) =>
    patterns.some(pattern => matchesGlob(file, pattern)),
  )?.[0] ?? 'gateway'

/** Those that take longest, and mostly wait: beside them the others find room. */
const FIRST = [
  'test/rooms/*.test.ts',
  'test/journeys/{background,idempotency,two-machines,worker-kill}*.test.ts',
  'test/chaos/chaos.test.ts',
  'test/docs/*.test.ts',
]
export const inOrder = (files: readonly string[]): string[] => {
  const rank = (file: string): number => {
    const found = FIRST.findIndex(pattern => matchesGlob(file, pattern))
    return found < 0 ? FIRST.length : found
  }
  return [...new Set(files)].sort(
    (left, right) => rank(left) - rank(right) || (left < right ? -1 : 1),
  )
}
