/** The files of a run: which there are, which come first, and whose share of its time each is. */
import { matchesGlob } from 'node:path'

/** Those of other folders are run by their room. */
export const FILES = [
  'test/rooms/*.test.ts',
  'test/{laws,docs,bench,chaos}/*.test.ts',
  'test/journeys/{*,{formats,money,websocket}/*}.test.ts',
]

/** Each has bounds of its own. What matches none is the engine's. */
const PATTERNS: Readonly<Record<string, readonly string[]>> = {
  money: [
    'test/rooms/{accounts,billed,ledger,money,postgres,prices,store}.test.ts',
    'test/journeys/money/*.test.ts',
    'test/chaos/*.test.ts',
    'test/docs/{accounts,limits,prices,webhooks}*.test.ts',
  ],
  formats: [
    'test/rooms/{formats,inside-formats,shipped,stored}.test.ts',
    'test/journeys/formats/*.test.ts',
  ],
}
const REST = 'engine'
export const SHARES: readonly string[] = [REST, ...Object.keys(PATTERNS), 'faults']
export const shareOf = (file: string): string =>
  Object.entries(PATTERNS).find(([, patterns]) =>
    patterns.some(pattern => matchesGlob(file, pattern)),
  )?.[0] ?? REST

/** What money must survive, and the tests that show it: in their short form a minute in all (`npm test -- --share faults`), in their
 *  long one with `--long`. They are run by their rooms as well. */
export const FAULTS: Readonly<Record<string, readonly string[]>> = {
  'kills of any process': ['test/chaos/{chaos,checker,recovery-kills}.test.ts'],
  'a kill at each write': ['test/chaos/{write-kills,store-trouble}.test.ts'],
  'five hundred on money for ten': ['test/journeys/billed/calls.test.ts'],
  'power loss': ['test/chaos/power-loss.test.ts'],
  'a full disk, a disk that fails': ['test/chaos/store-trouble.test.ts'],
  'PostgreSQL restarted, frozen, cut off': [
    'test/chaos/store-frozen.test.ts',
    'test/engine/store/postgres/{outage,lost-result}.test.ts',
  ],
  'any history': ['test/plugins/ledger/{model.property,audit,race}.test.ts'],
  'clients that hang up': ['test/journeys/billed/{hangups,cut}.test.ts'],
  'clocks that step': ['test/journeys/money/clock-steps.test.ts'],
  'addresses nobody may reach': ['test/plugins/webhooks/urls.test.ts'],
  'keys at rest, guessed and timed': ['test/plugins/credentials/{secrets,timing}.test.ts'],
  'revoked keys': [
    'test/plugins/credentials/revoked.test.ts',
    'test/journeys/money/two-machines.test.ts',
  ],
  'secrets told to nobody': ['test/journeys/canaries.test.ts'],
  'Idempotency-Key': [
    'test/plugins/idempotency/*.test.ts',
    'test/journeys/money/idempotency-{deaths,kill}.test.ts',
  ],
  webhooks: [
    'test/plugins/webhooks/{outbox,places}.test.ts',
    'test/journeys/money/webhook-kills.test.ts',
  ],
  'planted bugs': ['test/chaos/mutations.test.ts'],
}

/** Those that take longest, and mostly wait: beside them the others find room. */
const FIRST = [
  'test/journeys/money/idempotency-deaths.test.ts',
  'test/rooms/{engine,ledger,postgres}.test.ts',
  'test/{chaos/store-trouble,plugins/webhooks/places}.test.ts',
  'test/rooms/*.test.ts',
  'test/journeys/{formats/{background,format-matrix}*,money/{clock-steps,idempotency,two-machines}*,worker-kill}.test.ts',
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
