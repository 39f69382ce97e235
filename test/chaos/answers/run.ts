/** The part of a chaos run with a cache, guards, copies and rules: its upstream, its accounts, its
 *  clients, and what must hold afterwards. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Row } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { sql } from '../../helpers/store/store.ts'
import type { Violation } from '../checker.ts'
import { type AnswerCharge, type AnswerLogs, checkAnswers } from './checker.ts'
import { type AnswerCall, callForAnswers, type Payer } from './client.ts'
import { MODELS } from './configuration.ts'
import type { AnsweredCall } from './upstream.ts'

const CREDIT = 10n ** 18n
const NAMES = ['asks first', 'asks second']
const IN_MODELS = `(${MODELS.map(name => `'${name}'`).join(', ')})`
/** With what was debited later, since another gateway had ended the call. */
const CHARGES = `SELECT c.request, c.account, c.model, c.served, coalesce(r.amount, 0) AS refunded,
    CASE WHEN l.amount IS NULL THEN c.state ELSE 'settled' END AS state,
    c.amount - coalesce(l.amount, 0) AS amount
  FROM charges c LEFT JOIN credits r ON r.request = c.request
  LEFT JOIN credits l ON l.request = 'late ' || c.request WHERE c.model IN ${IN_MODELS}`
const CACHED = 'SELECT account, request, answer FROM cached_answers'
const COPIES = `SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(failed), 0) AS failed,
    coalesce(sum(cost), 0) AS cost, (SELECT coalesce(sum(used), 0) FROM mirror_budgets) AS used
  FROM mirror_days`

const NONE = { answers: 0, hits: 0, similarHits: 0, blocked: 0, copies: 0, canaryAnswers: 0 }
/** Calls and their outcomes, to show what a run has tested. */
export interface AnswerCounts {
  readonly answers: number
  /** Of equal and of similar requests. */
  readonly hits: number
  readonly similarHits: number
  readonly blocked: number
  readonly copies: number
  readonly canaryAnswers: number
  /** ms of the longest call. */
  readonly longest?: number
}

export const startAnswers = async (seed: number) => {
  const upstream = fork(new URL('./upstream.ts', import.meta.url), [`${seed}`], { execArgv: [] })
  process.once('exit', () => upstream.kill('SIGKILL'))
  const [{ port }] = (await once(upstream, 'message')) as [{ port: number }]
  let payers: readonly Payer[] = []
  let isOver = false
  let calls: Promise<readonly AnswerCall[]> = Promise.resolve([])
  let counts: AnswerCounts = NONE
  return {
    port,
    /** Of the last `violations`. */
    counts: () => counts,
    async arrange(database: OpenDatabase): Promise<void> {
      payers = await Promise.all(NAMES.map(name => createPayer(database, name)))
    },
    call(url: () => string): void {
      calls = callForAnswers(url, payers, createChance(seed), () => isOver)
    },
    /** Resolves when every call has ended. */
    async end(): Promise<void> {
      isOver = true
      await calls
    },
    close(): void {
      isOver = true
      if (upstream.connected) upstream.disconnect()
    },
    /** After all processes ended. */
    async violations(database: OpenDatabase): Promise<readonly Violation[]> {
      const reply = once(upstream, 'message')
      upstream.send('log')
      const [{ log }] = (await reply) as [{ log: readonly AnsweredCall[] }]
      const logs = { clients: await calls, upstream: log, ...(await readStore(database)) }
      counts = countsOf(logs)
      return checkAnswers(logs)
    },
  }
}

const createPayer = async (database: OpenDatabase, name: string): Promise<Payer> => {
  const now = Date.now()
  const rows = await database.write(createAccount({ name, role: 'customer' }, now))
  const account = Number(rows.at(-1)?.[0]?.id)
  const secret = makeSecret('key')
  await database.write([
    ...addKey({ account, name: 'key', secret }, now),
    openWallet(account * 2, 0n),
    addCredit({ account, kind: 'credit', amount: CREDIT, note: 'chaos', at: now }),
  ])
  return { account, key: secret.text }
}

const readStore = async (
  database: OpenDatabase,
): Promise<Pick<AnswerLogs, 'charges' | 'cached' | 'copies'>> => {
  const read = (text: string) => database.read(sql(`chaos: ${text}`, text), [])
  const [charges, cached, [copies]] = [await read(CHARGES), await read(CACHED), await read(COPIES)]
  return {
    charges: charges.map(chargeOf),
    cached: cached.map(({ account, request, answer }) => ({
      account: Number(account),
      request: String(request),
      text: String(answer),
    })),
    copies: {
      calls: Number(copies?.calls),
      failed: Number(copies?.failed),
      cost: BigInt(String(copies?.cost)),
      used: BigInt(String(copies?.used)),
    },
  }
}
const chargeOf = (row: Row): AnswerCharge => {
  const { cache, rule } = JSON.parse(String(row.served ?? '{}')) as Readonly<Record<string, string>>
  return {
    request: String(row.request),
    account: Number(row.account),
    model: String(row.model),
    state: String(row.state),
    amount: BigInt(String(row.amount)),
    refunded: BigInt(String(row.refunded)),
    cache,
    rule,
  }
}
const countsOf = ({ clients, copies }: AnswerLogs): AnswerCounts => {
  const whole = clients.filter(({ isComplete, status }) => isComplete && status === 200)
  const startingWith = (start: string): number =>
    whole.filter(({ cache }) => cache.startsWith(start)).length
  const similarHits = whole.filter(({ cache }) => cache.includes('kind=semantic')).length
  return {
    answers: whole.length,
    hits: startingWith('hit') - similarHits,
    similarHits,
    blocked: clients.filter(({ status }) => status === 400).length,
    copies: copies.calls,
    canaryAnswers: whole.filter(({ rule }) => rule === 'canary').length,
    longest: Math.round(Math.max(0, ...clients.map(({ ms }) => ms))),
  }
}
