/** Requests of every kind with an Idempotency-Key, each repeated until it is answered and once
 *  more, while the store is killed, restarted, locked and frozen: each has happened exactly once,
 *  and what was answered exists.
 *  `node test/chaos/creates/keyed-creates.ts --requests 3000 --store postgres`. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Row } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { addMember, memberNamed } from '../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../../plugins/credentials/statements.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { assignPlan } from '../../../plugins/ledger/plans/rows.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { sql } from '../../helpers/store/store.ts'
import { workerOf, writerOf } from '../gateway-tree.ts'
import { postgresAt, STORES, type StoreSetup } from '../stores.ts'
import { BUDGETS, configurationOf, PLAN } from './configuration.ts'
import { fieldsIn, type Kind, type Preparation, type Subject } from './kind.ts'
import { createKinds } from './kinds.ts'
import { startProviders } from './provider.ts'

export interface KeyedCreatesOptions {
  readonly store: 'sqlite' | 'postgres'
  readonly requests: number
  readonly seed: number
  /** Requests at once. */
  readonly clients?: number
  report?(line: string): void
}
export interface KeyedCreatesOutcome {
  /** By kind. */
  readonly requests: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  /** Attempts that were not answered, or answered with an error to retry. */
  readonly retried: number
  readonly replayed: number
  readonly violations: readonly string[]
}

/** Lists that the store has not taken yet. */
const owedFiles = (data: string): readonly string[] => globSync(join(data, 'owed', '*', '*'))
const CREDIT = 10n ** 17n
const ACCOUNT = 1
/** The owner of the API keys. */
const MEMBER = 'olga'
/** Of an account that makes a single request. */
const CREDIT_OF_ONE = 10n ** 12n
/** Attempts after which a request counts as never answered; a fault causes far fewer. */
const MOST_ATTEMPTS = 500
/** Requests that are answered between two faults, at least. */
const PER_FAULT = 4

interface Request extends Subject {
  readonly kind: Kind
  /** An API key of its own, or a system token. */
  readonly credential: string
}
interface Answer {
  readonly request: Request
  /** Attempts that broke after a part of their response: what was delivered is charged. */
  readonly broken: number
  readonly status: number
  readonly text: string
}
interface RepeatedAnswer extends Answer {
  /** The answer to one more repetition. */
  readonly last: Answer
}

/** Sends a request with its Idempotency-Key until it is answered. */
const sendUntilAnswered = async (
  { url }: Pick<TestGateway, 'url'>,
  request: Request,
  counts: { retried: number; replayed: number },
): Promise<Answer> => {
  let broken = 0
  let refusal = 'nothing'
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    try {
      const { path, init } = request.kind.make(request.name, request.prepared)
      const headers = {
        ...init.headers,
        authorization: `Bearer ${request.credential}`,
        'idempotency-key': request.name,
      }
      const signal = AbortSignal.timeout(20_000)
      const response = await fetch(url + path, { method: 'POST', ...init, headers, signal })
      const { status } = response
      const text = await response.text()
      if (status === 200 && request.kind.isBroken?.(text)) throw new Error('the stream broke')
      if (response.headers.get('idempotent-replayed') === 'true') counts.replayed++
      if (status < 500 && status !== 409) return { request, broken, status, text }
      refusal = `${status} ${text}`
    } catch {
      // Its head may have been under way.
      if (request.kind.isStream) broken++
    }

    counts.retried++
    await pause(60)
  }
  return { request, broken, status: 0, text: `it was never answered: ${refusal}` }
}

type Harms = Readonly<Record<string, (chance: () => number) => Promise<void>>>
interface Store extends Pick<StoreSetup, 'open' | 'end'> {
  readonly url: string
  harms(gateway: TestGateway): Harms
}
/** The process may have ended. */
const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {}
}
const killWorker = async ({ pid }: TestGateway): Promise<void> => {
  const worker = workerOf(pid)
  if (worker !== undefined) signal(worker, 'SIGKILL')
}
const openSqlite = async (): Promise<Store> => {
  const setup = await STORES.sqlite()
  return {
    ...setup,
    harms: gateway => ({
      async writer() {
        const writer = writerOf(gateway.pid)
        if (writer !== undefined) signal(writer, 'SIGKILL')
      },
      async freeze(chance) {
        const writer = writerOf(gateway.pid)
        if (writer === undefined) return
        signal(writer, 'SIGSTOP')
        await pause(800 + chance() * 900)
        signal(writer, 'SIGCONT')
      },
      worker: () => killWorker(gateway),
    }),
  }
}
const LOCKED = [
  'tasks',
  'charges',
  'idempotency_keys',
  'batches',
  'stored_files',
  'stored_responses',
]
const openPostgres = async (): Promise<Store> => {
  const server = await startPostgres()
  const url = await server.create()
  const database = new URL(url).pathname.slice(1)
  const lock = (table: string) => async (chance: () => number) => {
    const seconds = 0.4 + chance() * 1.4
    await server
      .ask(`BEGIN; LOCK TABLE ${table}; SELECT pg_sleep(${seconds}); COMMIT`, database)
      .catch(() => {})
  }
  return {
    ...postgresAt(url),
    end: () => server.stop(),
    harms: gateway => ({
      async restart() {
        await server.stop()
        await server.start()
      },
      async freeze(chance) {
        server.signal('SIGSTOP')
        await pause(500 + chance() * 1_200)
        server.signal('SIGCONT')
      },
      ...Object.fromEntries(LOCKED.map(table => [`lock ${table}`, lock(table)])),
      worker: () => killWorker(gateway),
    }),
  }
}

const CHARGES = `SELECT c.key, c.state, c.amount, (SELECT count(*) FROM credits r
   WHERE r.request = c.request AND r.kind = 'refund') AS refunds
   FROM charges c WHERE c.state <> 'released'`
const USED_WINDOWS = `SELECT b.budget AS name FROM budget_windows b JOIN wallets w ON w.id = b.wallet
   WHERE w.used > 0 UNION SELECT l.plan FROM plan_windows l JOIN wallets w ON w.id = l.wallet WHERE w.used > 0`
const OPEN_RESPONSES = "SELECT count(*) AS open FROM stored_responses WHERE status = 'in_progress'"

const SUCCESSES: ReadonlySet<number> = new Set([200, 201, 202])
const isRefusedReplay = ({ status, request: { kind } }: Answer): boolean =>
  status === 410 && kind.replayIsRefused === true
const idOf = (answer: Answer): string | undefined =>
  isRefusedReplay(answer) ? undefined : answer.request.kind.idIn?.(answer.text)
const violationsIn = function* (
  answer: RepeatedAnswer,
  rows: readonly Row[],
  charges: readonly Row[],
): Generator<string> {
  const { last, broken, text } = answer
  const { kind } = answer.request
  for (const each of [answer, last])
    if (!SUCCESSES.has(each.status) && !isRefusedReplay(each))
      return yield `${each.status} ${each.text.slice(0, 200)}`
  const isFree = !kind.isBilled || rows.some(({ free }) => free === 1)
  if (!isFree && (charges.length < 1 || charges.length > 1 + broken))
    yield `${charges.length} charges, ${text.slice(0, 80)}`
  if (kind.rows === undefined) return
  const ids = rows.map(({ id }) => String(id))
  const id = idOf(answer)
  const lastId = idOf(last) ?? id
  if (id !== undefined && lastId !== id) yield `${id}, and then ${lastId}`
  if (id === undefined ? ids.length === 0 : !ids.includes(id)) yield `no row of ${id ?? 'it'}`
  if (ids.length > 1) yield `${ids.length} rows: ${ids.join(' ')}`
}

/** Broken rules, of those that hold once every request is answered. */
const violationsOf = async (
  store: Store,
  data: string,
  answers: readonly RepeatedAnswer[],
): Promise<string[]> => {
  const database = await store.open(data)
  try {
    const read = async (text: string) => database.read(sql(text, text), [])
    const violations: string[] = []
    const chargesByKey = Map.groupBy(await read(CHARGES), ({ key }) => Number(key))
    const tables = new Map<string, ReadonlyMap<string, readonly Row[]>>()
    for (const { rows, nameIn = String } of new Set(answers.map(({ request }) => request.kind)))
      if (rows !== undefined && !tables.has(rows))
        tables.set(
          rows,
          Map.groupBy(await read(rows), ({ name }) => nameIn(String(name))),
        )
    for (const answer of answers) {
      const { kind, name, key } = answer.request
      const rows = tables.get(kind.rows ?? '')?.get(kind.nameOfRow?.(answer.request) ?? name) ?? []
      const charges = (chargesByKey.get(key) ?? []).filter(({ refunds }) => Number(refunds) === 0)
      for (const violation of violationsIn(answer, rows, charges))
        violations.push(`${kind.name} ${name}: ${violation}`)
    }
    for (const { rule, subject, detail } of await audit(database))
      violations.push(`${rule}: ${subject}: ${detail}`)
    const used = new Set((await read(USED_WINDOWS)).map(({ name }) => String(name)))
    for (const name of [PLAN, ...BUDGETS])
      if (!used.has(name)) violations.push(`${name}: no call has used it`)
    return violations
  } finally {
    await database.close()
  }
}

/** Its credential, and the numbers of the API key and of the account that it belongs to. */
const addCredential = async (
  database: OpenDatabase,
  kind: Kind,
  { name, member }: { readonly name: string; readonly member: number },
) => {
  const now = Date.now()
  if (kind.hasOwnAccount) {
    const rows = await database.write(createAccount({ name: `of ${name}`, role: 'customer' }, now))
    const account = Number(rows.at(-1)?.[0]?.id)
    await giveCredit(database, account, CREDIT_OF_ONE)
    const secret = makeSecret('system-token')
    await database.write(addToken({ account, name, secret }, now))
    return { account, key: 0, credential: secret.text }
  }
  const secret = makeSecret('key')
  const list = addKey({ account: ACCOUNT, name, secret, member }, now)
  const [{ id } = { id: 0 }] = (await database.write(list)).at(-1) ?? []
  return { account: ACCOUNT, key: Number(id), credential: kind.token ?? secret.text }
}
const makeRequests = async (
  database: OpenDatabase,
  preparation: Preparation,
  kinds: readonly Kind[],
  count: number,
): Promise<readonly Request[]> => {
  const requests: Request[] = []
  const now = Date.now()
  await database.write([
    ...addMember(ACCOUNT, { name: MEMBER, role: 'owner' }, now),
    ...assignPlan({ account: ACCOUNT, plan: PLAN, since: now, until: undefined }),
  ])
  const member = Number((await memberNamed(database, ACCOUNT, MEMBER))?.id)
  for (let at = 0; at < count; at++) {
    const kind = kinds[at % kinds.length] as Kind
    const name = `n${at}`
    const subject = await addCredential(database, kind, { name, member })
    const prepared = (await kind.prepare?.(preparation, subject.credential)) ?? ''
    requests.push({ kind, name, prepared, ...subject })
  }
  return requests
}
/** Requests of an operator, which the gateway answers as long as nothing fails. */
const preparationOf = (url: string, key: string, token: string): Preparation => ({
  token,
  async send({ path, init }, credential = key) {
    const headers = { ...init.headers, authorization: `Bearer ${credential}` }
    const response = await fetch(url + path, { method: 'POST', ...init, headers })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return fieldsIn(text)
  },
})

export const runKeyedCreates = async (
  options: KeyedCreatesOptions,
): Promise<KeyedCreatesOutcome> => {
  const { seed, clients = 8, report = () => {} } = options
  const store = await (options.store === 'sqlite' ? openSqlite() : openPostgres())
  const providers = await startProviders()
  const env = {
    DATABASE_URL: store.url,
    WORKERS: '2',
    GEMINI_BASE_URL: providers.gemini,
    GEMINI_API_KEY: 'key',
    SUNO_API_KEY: 'key',
  }
  const gateway = await startGateway({ env, ...configurationOf(providers.suno) })
  try {
    const adminKey = await gateway.key()
    const [, token] = /\b(st-\w{20,})/.exec(gateway.output()) ?? []
    if (token === undefined) throw new Error('the output of the gateway has no system token')
    const database = await store.open(gateway.data)
    await giveCredit(database, ACCOUNT, CREDIT)
    const preparation = preparationOf(gateway.url, adminKey, token)
    const kinds = await createKinds(preparation)
    const requests = await makeRequests(database, preparation, kinds, options.requests)
    await database.close()
    report(`${requests.length} requests of ${kinds.length} kinds`)
    const counts = { retried: 0, replayed: 0 }
    const answers: RepeatedAnswer[] = []
    let next = 0
    const client = async (): Promise<void> => {
      for (let request = requests[next++]; request; request = requests[next++]) {
        const answer = await sendUntilAnswered(gateway, request, counts)
        answers.push({ ...answer, last: await sendUntilAnswered(gateway, request, counts) })
        if (answers.length % 100 === 0) report(`${answers.length} answered`)
      }
    }
    const all = Promise.all(Array.from({ length: clients }, client))
    let isOver = false
    void all.finally(() => {
      isOver = true
    })
    const faults: Record<string, number> = {}
    const chance = createChance(seed)
    const harms = Object.entries(store.harms(gateway))
    for (let at = 0; !isOver; at++) {
      await pause(150 + chance() * 500)
      const [name, harm] = harms[at % harms.length] as (typeof harms)[number]
      if (isOver) break
      faults[name] = (faults[name] ?? 0) + 1
      await harm(chance)
      const before = answers.length
      while (!isOver && answers.length < before + PER_FAULT) await pause(50)
    }
    await all
    report('all are answered; waiting for what runs on')
    const reader = await store.open(gateway.data)
    await eventually(async () => {
      const [row] = await reader.read(sql('open', OPEN_RESPONSES), [])
      return Number(row?.open) === 0 || undefined
    })
    await reader.close()
    await eventually(() => owedFiles(gateway.data).length === 0 || undefined)
    const violations = await violationsOf(store, gateway.data, answers)
    const byKind = Map.groupBy(answers, ({ request }) => request.kind.name)
    return {
      requests: Object.fromEntries([...byKind].map(([name, each]) => [name, each.length])),
      faults,
      ...counts,
      violations,
    }
  } finally {
    await gateway.stop()
    providers.stop()
    await store.end()
  }
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
      clients: { type: 'string', default: '8' },
    },
  })
  const print = (line: string): void =>
    void process.stdout.write(`${(performance.now() / 1_000).toFixed(1)} s ${line}\n`)
  const outcome = await runKeyedCreates({
    store: values.store === 'postgres' ? 'postgres' : 'sqlite',
    requests: Number(values.requests),
    seed: Number(values.seed),
    clients: Number(values.clients),
    report: print,
  })
  for (const violation of outcome.violations) print(violation)
  print(JSON.stringify({ ...outcome, violations: outcome.violations.length }))
  process.exitCode = outcome.violations.length === 0 ? 0 : 1
}
if (import.meta.main) await main()
