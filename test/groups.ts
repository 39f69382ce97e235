/** The test files of a run, their order, and the group that each belongs to. */
import { matchesGlob } from 'node:path'

/** Files that run in processes of their own; suites run the files of other folders. */
export const FILES = [
  'test/suites/{,ci/}*.test.ts',
  'test/{laws,docs{,/features},examples,bench{,/scale},chaos{,/{answers,creates,failover,gateways,tasks}},mutation,oracles}/*.test.ts',
  'test/journeys/{*,{attacks,clients,console,formats,money,upstreams,websocket}/*}.test.ts',
]

/** Files left to CI (`npm test -- --group ci`), so that `npm test` takes minutes: they start whole
 *  gateways, a browser or a packed program, beside others that test the same parts. A new journey
 *  in a file of its own belongs to them; journeys that share the gateway of a suite do not. */
const CI_FILES = [
  'test/suites/ci/*.test.ts',
  'test/suites/{commands,prebuild,release}.test.ts',
  'test/examples/*.test.ts',
  'test/docs/{blocks,readme,guide-commands,jobs,editor,plugins,plugin-*}.test.ts',
  'test/docs/features/*.test.ts',
  'test/bench/{bench,scale/fixture}.test.ts',
  'test/laws/{environment,laws}.test.ts',
  'test/chaos/**/*.test.ts',
  'test/mutation/*.test.ts',
  'test/oracles/all-*.test.ts',
  'test/journeys/**/*.test.ts',
]

/** Files of CI_FILES that `npm test` runs nevertheless: each part of the product is tested. */
const NPM_FILES = [
  'test/chaos/{checker,few-kills,mutations,answers/checker}.test.ts',
  'test/journeys/{admin-endpoints,gateway-calls,readiness,reload}.test.ts',
  'test/journeys/{slow-clients,start,upstream-faults}.test.ts',
  'test/journeys/clients/{agents,tls-listener}.test.ts',
  'test/journeys/formats/aimock.test.ts',
  'test/journeys/money/idempotency-crash.test.ts',
  'test/journeys/websocket/websocket-messages.test.ts',
]
const matchesOne = (file: string, patterns: readonly string[]): boolean =>
  patterns.some(pattern => matchesGlob(file, pattern))
export const isLeftToCi = (file: string): boolean =>
  matchesOne(file, CI_FILES) && !matchesOne(file, NPM_FILES)

/** Files of each group. All other files belong to the engine. */
const PATTERNS: Readonly<Record<string, readonly string[]>> = {
  money: [
    'test/suites/{,ci/}{accounts,billed,ledger,money,postgres,prices,store,tasks,task-endpoints,files}.test.ts',
    'test/journeys/money/*.test.ts',
    'test/chaos/{,answers/,creates/,failover/,gateways/,tasks/}*.test.ts',
    'test/docs/{accounts,limits,prices,webhooks}*.test.ts',
  ],
  formats: [
    'test/suites/{,ci/}{formats,inside-formats,shipped,stored}.test.ts',
    'test/journeys/{clients,formats}/*.test.ts',
    'test/oracles/*.test.ts',
  ],
}
const DEFAULT_GROUP = 'engine'
export const GROUPS: readonly string[] = [DEFAULT_GROUP, ...Object.keys(PATTERNS), 'faults', 'ci']
export const groupOf = (file: string): string =>
  Object.entries(PATTERNS).find(([, patterns]) => matchesOne(file, patterns))?.[0] ?? DEFAULT_GROUP

/** Faults that money must survive, with their tests: about a minute with `npm test -- --group
 *  faults`, longer with `--long`. The suites run these tests as well. */
export const FAULTS: Readonly<Record<string, readonly string[]>> = {
  'kills of any process': [
    'test/chaos/{chaos,checker,recovery-kills,answers/checker,tasks/task-kills}.test.ts',
    'test/chaos/gateways/*.test.ts',
  ],
  'a kill at each write': ['test/chaos/{write-kills,store-faults}.test.ts'],
  'five hundred calls on credit for ten': ['test/journeys/billed/metered-calls.test.ts'],
  'power loss': ['test/chaos/power-loss.test.ts'],
  'a full disk, a disk that fails': ['test/chaos/store-faults.test.ts'],
  'PostgreSQL restarted, frozen, cut off': [
    'test/chaos/store-frozen.test.ts',
    'test/engine/store/postgres/{outage,lost-result}.test.ts',
  ],
  'PostgreSQL failed over to a replica': ['test/chaos/failover/failover.test.ts'],
  'any history': ['test/plugins/ledger/{model.property,audit,race}.test.ts'],
  'clients that hang up': ['test/journeys/billed/{client-disconnects,overage}.test.ts'],
  'clocks that step': ['test/journeys/money/clock-steps.test.ts'],
  'stray answers, broken frames': ['test/journeys/attacks/*.test.ts'],
  'addresses that must not be reached': ['test/plugins/webhooks/urls.test.ts'],
  'keys at rest, guessed and timed': ['test/plugins/credentials/{secrets,timing}.test.ts'],
  'revoked keys': [
    'test/plugins/credentials/revoked.test.ts',
    'test/journeys/money/two-machines.test.ts',
  ],
  'secrets that must not leak': ['test/journeys/secret-leaks.test.ts'],
  'Idempotency-Key': [
    'test/plugins/idempotency/*.test.ts',
    'test/journeys/money/idempotency-{process-loss,crash}.test.ts',
    'test/chaos/creates/*.test.ts',
  ],
  webhooks: [
    'test/plugins/webhooks/{outbox,endpoint-slots}.test.ts',
    'test/journeys/money/webhook-kills.test.ts',
  ],
  'planted bugs': ['test/chaos/mutations.test.ts'],
}

/** Files that take longest and mostly wait: others run beside them. */
const FIRST = [
  'test/journeys/money/idempotency-process-loss.test.ts',
  'test/suites/{,ci/}{engine,ledger,postgres,tasks,task-endpoints,files}.test.ts',
  'test/{chaos/store-faults,plugins/webhooks/endpoint-slots}.test.ts',
  'test/suites/{,ci/}*.test.ts',
  'test/journeys/{formats/{background,format-matrix}*,money/{clock-steps,idempotency,two-machines}*,worker-lifecycle}.test.ts',
  'test/chaos/chaos.test.ts',
  'test/docs/{,features/}*.test.ts',
]
/** Files that need the whole machine: they measure a gateway beyond its capacity. */
const LAST = 'test/journeys/overload*.test.ts'
export const inOrder = (files: readonly string[]): string[] => {
  const rank = (file: string): number => {
    if (matchesGlob(file, LAST)) return FIRST.length + 1
    const index = FIRST.findIndex(pattern => matchesGlob(file, pattern))
    return index < 0 ? FIRST.length : index
  }
  return [...new Set(files)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}
