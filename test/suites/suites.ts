/** Which tests each suite runs. Paths are relative to test/. */
import { globSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Suite {
  readonly patterns: readonly string[]
  /** Tests that another suite runs. */
  readonly exclude?: readonly string[]
}

const TESTS = fileURLToPath(new URL('..', import.meta.url))
/** Tests whose coverage is not measured: it would double their cost and add no covered line. */
const UNMEASURED = [
  'engine/{quota,request}/*.property.test.ts',
  'engine/processes/builder-client.test.ts',
]
/** Subsystems of the engine, which have suites of their own. */
const SUBSYSTEMS = ['engine/{cli,config,store}/**']
const CRASHES = ['engine/store/{on-crash-statements,sqlite/writer-killed}.test.ts']
/** Commands that start gateways of their own or copy whole stores. */
const COMMANDS = [
  'engine/cli/{completion,import/{new-api,litellm-command},move,restore,setup,test-cases}.test.ts',
]
/** Tests of money and of crashing stores, which take longest: they run on both databases. */
const LEDGER = ['plugins/ledger/**/*.test.ts']
const MONEY = ['plugins/{account,credentials,idempotency,identity,notify,webhooks}/*.test.ts']
/** Tests that mostly wait for polls. */
const TASKS = ['plugins/task/{,requests/}*.test.ts']
const TASK_ENDPOINTS = [
  'plugins/task/{calls,copies,midjourney,modes,provider-shapes,unknown,videos}.test.ts',
]
const FILES = ['plugins/{batches,files,file-store,resources}/*.test.ts']
const PRICES = ['plugins/{billing,limit}/*.test.ts']
/** Tests of formats and of translations between them. */
const FORMATS = [
  'plugins/{conversion,formats,responses,sandbox,schema,translate}/**/*.test.ts',
  'plugins/catalogue/shipped-*.test.ts',
]
const PREBUILD = ['release/prebuild.test.ts']

/** By name: `test/suites/NAME.test.ts` runs each. Journeys of one suite share a gateway. */
export const SUITES: Readonly<Record<string, Suite>> = {
  accounts: { patterns: ['journeys/accounts/*.test.ts'] },
  billed: { patterns: ['journeys/billed/{,cache/,realtime/,served/}*.test.ts'] },
  cli: { patterns: ['engine/cli/**/*.test.ts'], exclude: COMMANDS },
  commands: { patterns: COMMANDS },
  config: { patterns: ['engine/config/**/*.test.ts'] },
  engine: { patterns: ['engine/**/*.test.ts'], exclude: [...UNMEASURED, ...SUBSYSTEMS] },
  files: { patterns: FILES },
  formats: { patterns: FORMATS },
  'inside-formats': { patterns: ['journeys/inside-formats/*.test.ts'] },
  inside: { patterns: ['journeys/inside/*.test.ts'] },
  ledger: { patterns: LEDGER },
  money: { patterns: MONEY },
  plugins: {
    patterns: ['plugins/**/*.test.ts'],
    exclude: [...FORMATS, ...LEDGER, ...MONEY, ...PRICES, ...TASKS, ...FILES],
  },
  postgres: { patterns: ['engine/store/postgres/*.test.ts'] },
  prebuild: { patterns: PREBUILD },
  prices: { patterns: [...PRICES, ...CRASHES] },
  release: { patterns: ['release/*.test.ts'], exclude: PREBUILD },
  shipped: { patterns: ['journeys/shipped/**/*.test.ts'] },
  store: { patterns: ['engine/store/{*,sqlite/*}.test.ts'], exclude: CRASHES },
  stored: { patterns: ['journeys/stored/*.test.ts'] },
  'task-endpoints': { patterns: TASK_ENDPOINTS },
  tasks: { patterns: TASKS, exclude: TASK_ENDPOINTS },
  unmeasured: { patterns: UNMEASURED },
}

/** Tests that `test/suites/ci/NAME.test.ts` runs instead: each takes a second of CPU time or more,
 *  beside tests of the same part that take less. */
const CI_TESTS = [
  'engine/cli/{check-live,check-messages,command-line,explain,lint,plugin-new,quote}.test.ts',
  'engine/cli/doctor/configured.test.ts',
  'engine/cli/{runtime,standalone,unread-output,unusable-store,import/{litellm,new-api-dumps}}.test.ts',
  'engine/config/{broken,other-gateways,plugin-order,plugins,problem-codes}.test.ts',
  'engine/config/compile/defaults.test.ts',
  'engine/config/yaml/{edited-files,parsed-text}.test.ts',
  'engine/processes/{builder-client,connection-limit,memory/idle-memory,start-record}.test.ts',
  'engine/quota/allowance-machines.test.ts',
  'engine/cli/store/{exclusive-use,moved-store}.test.ts',
  'engine/request-log/request-log.test.ts',
  'engine/response/decoded-source.test.ts',
  'engine/store/{command,jobs,on-crash-statements,sqlite/writer-killed}.test.ts',
  'engine/store/postgres/{lost-result,outage,pooler,reaping}.test.ts',
  'engine/upstream/connections.test.ts',
  'plugins/account/{commands,pricing}.test.ts',
  'plugins/action-log/{processes,tampering,walk}.test.ts',
  'plugins/adapt/presets.test.ts',
  'plugins/alerts/{outbox,rules}.test.ts',
  'plugins/cache/{leaders,similar}.test.ts',
  'plugins/batches/{failed-lines,lines}.test.ts',
  'plugins/console/{actions,admin,app-files,attacks,configuration-forms,editor,huge-numbers}.test.ts',
  'plugins/console/{live,query-parameters,sign-in,snippets}.test.ts',
  'plugins/credentials/{role,work-owner}.test.ts',
  'plugins/declared-accounts.test.ts',
  'plugins/files/{files,s3-store}.test.ts',
  'plugins/formats/{ai-sdk-answers,long-histories,sdk-*-types}.test.ts',
  'plugins/idempotency/{every-route,failures}.test.ts',
  'plugins/identity/{identity,member-caps,provider-logout,sign-in-attacks}.test.ts',
  'plugins/ledger/{archive/archive,audit-order,export,fallback-price,kept-hold,new-process-name}.test.ts',
  'plugins/ledger/budgets/{alerts,at-limit,budgets,moved-clock,rows,tokens}.test.ts',
  'plugins/ledger/model.property.test.ts',
  'plugins/ledger/{plans/{plans,purchase,rollover,tokens},quota-kind-single-row,reaped-process}.test.ts',
  'plugins/ledger/{refused,single-row-charge}.test.ts',
  'plugins/ledger/views/{long-periods,served-by,usage-days}.test.ts',
  'plugins/operator/{budget-lists,budgets,commands,key-imports,plans}.test.ts',
  'plugins/notify/mails.test.ts',
  'plugins/observe/{call-sums,failed-calls,logs}.test.ts',
  'plugins/scim/provisioning.test.ts',
  'plugins/task/{awaited-keys,callbacks,copies,image-actions,images,late,midjourney}.test.ts',
  'plugins/task/{modes,operators,provider-shapes,providers,refresh,requests}.test.ts',
  'plugins/task/{unknown,usage,videos}.test.ts',
  'plugins/translate/{cut-texts,fit-history}.test.ts',
  'plugins/webhooks/{endpoint-slots,outbox}.test.ts',
  'journeys/accounts/{identity,provider-sign-in}.test.ts',
  'journeys/billed/served/{guards,tiers}.test.ts',
  'journeys/billed/compressed-tasks.test.ts',
  'journeys/billed/cache/*.test.ts',
  'journeys/billed/{huge-events,journal,mirror,rules,tags,telemetry,warm-up}.test.ts',
  'journeys/billed/realtime/socket-targets.test.ts',
  'journeys/inside/{raw-bytes,request-smuggling}.test.ts',
  'journeys/inside-formats/{audio-declared,cohere-chat,images-*,preset-conversations}.test.ts',
  'journeys/inside-formats/{sandbox-targets,upstream-keys,video-upload}.test.ts',
  'journeys/money/task-races.test.ts',
  'journeys/shipped/{audio-*,dropped-settings,embedding-settings}.test.ts',
  'journeys/shipped/{ent/edits,ent/errors,file-ids,image*,sheet-charges}.test.ts',
  'journeys/shipped/foreign-ids/{references,routes}.test.ts',
  'journeys/shipped/{null-members,openai-videos,refused-requests}.test.ts',
  'journeys/stored/{affinity,interactions,item-references}.test.ts',
]

const matchesOne = (file: string, patterns: readonly string[]): boolean =>
  patterns.some(pattern => matchesGlob(file, pattern))

/** The tests of a suite that `npm test` runs, or those left to CI. Throws for an unknown name. */
export const testsOf = (name: string, group: 'npm' | 'ci'): string[] => {
  const suite = SUITES[name]
  if (!suite) throw new Error(`there is no suite "${name}"`)
  const { patterns, exclude = [] } = suite
  return globSync(patterns, { cwd: TESTS })
    .filter(file => !matchesOne(file, exclude) && matchesOne(file, CI_TESTS) === (group === 'ci'))
    .sort()
}
