/** Which test files have their coverage measured, with all processes that they start, and where it
 *  is written. These files run the whole engine and the ledger; the others are faster without
 *  measurement. */
import { matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'

const MEASURED = [
  'test/suites/{,ci/}{billed,cli,commands,config,engine,inside,ledger,plugins,postgres,store}.test.ts',
  'test/journeys/{admin-access,admin-endpoints,body-limits,drain,gateway-calls}.test.ts',
  'test/journeys/{invalid-reloads,npm-start,overload,readiness,reload,start}.test.ts',
  'test/journeys/{upstream-faults,worker-crashes,worker-lifecycle}.test.ts',
  'test/journeys/money/{budget-quotes,plan-quotes,price-tiers}.test.ts',
  'test/journeys/{attacks,upstreams,websocket}/*.test.ts',
  'test/chaos/failover/*.test.ts',
]
export const isMeasured = (file: string): boolean =>
  MEASURED.some(pattern => matchesGlob(file, pattern))

/** Each measured process writes its report here when it ends. */
export const COVERAGE = fileURLToPath(new URL('../../.tap/coverage', import.meta.url))
