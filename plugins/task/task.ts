/** A durable task: its states, its row, and what a customer sees of it. Pure. */

import type { Json, Row, Target } from '../../engine/plugin.ts'
import type { TASK_STATES } from '../rows/work.ts'
import type { Attributes, KeptHold, Meters } from '../slots.ts'

/**
 *   accepted ──▶ submitting ──▶ submitted ──▶ running ──▶ succeeded   (the hold is settled)
 *       ▲            │              └────────────┴──────▶ failed      (the hold is released)
 *       │            ├──▶ accepted again: the request was surely not sent, or the upstream does
 *       │            │    not know it
 *       │            └──▶ unknown: it was perhaps sent; the hold stays until it is found, its time
 *       │                 is over, or an operator or its customer ends it
 *       └──▶ failed: cancelled
 *  A task that failed by its deadline, or as unknown, succeeds after all if a later poll shows
 *  that (`late`).
 *  Where results are copied, a task stays `running` (or `failed`) until its files are copied.
 *  Each move names the state it leaves, so that of two processes only one makes it. */
export type State = (typeof TASK_STATES)[number]
export const isFinal = (state: State): boolean => state === 'succeeded' || state === 'failed'

export type Fields = { readonly [name: string]: Json }
export interface TaskError {
  /** The upstream's own code, or one of `TASK_ERRORS`. */
  readonly code: string
  readonly message: string
  /** Of the answer that reports it, for a call that ran as a task. */
  readonly status?: number
}
/** Codes of failures that the gateway found. */
export const TASK_ERRORS = {
  timeout: 'Timeout',
  cancelled: 'UserCancelled',
  internal: 'InternalServiceFailure',
} as const

/** Of a task that failed because its submit stayed `unknown`. */
export const UNKNOWN_ERROR: TaskError = {
  code: TASK_ERRORS.internal,
  message: 'it is unknown whether the upstream got this task',
}

/** Meters and attributes of a price, and the model that the upstream names. */
export interface ReportedUsage {
  readonly meters: Meters
  readonly attributes: Attributes
  readonly model?: string
}

/** Where the states of a task are announced. */
export interface Callback {
  readonly url: string
  /** A key of `taskDialects`. */
  readonly dialect: string
}
/** A file of a result that is in the file store. */
export interface Copy {
  /** Index of the result. */
  readonly result: number
  /** The member of the result that shows its URL. */
  readonly member: string
  /** Id in the file store. */
  readonly file: string
  readonly name: string
}
export interface Task {
  readonly id: string
  readonly account: number
  readonly key: number | undefined
  readonly request: string
  readonly route: string
  /** Of the create. */
  readonly path: string
  readonly model: string
  readonly state: State
  /** The request as answers show it: data is its size and its digest. */
  readonly body: Fields
  /** Whether a text of the request is cut in `body`. */
  readonly isCut: boolean
  /** Pieces of the request; 0: `body` is the request. */
  readonly parts: number
  /** The meters that the request orders. */
  readonly meters: Meters | undefined
  /** The results that the upstream reports. */
  readonly reported: ReportedUsage | undefined
  readonly slots: Readonly<Record<string, Json>>
  readonly target: Target
  readonly hold: KeptHold | undefined
  readonly upstreamId: string | undefined
  /** Submits so far. */
  readonly attempts: number
  /** Failed calls since the last successful one. */
  readonly failures: number
  /** Percent. */
  readonly progress: number
  readonly error: TaskError | undefined
  readonly results: readonly Json[]
  /** Files of the results that are in the file store. */
  readonly copies: readonly Copy[]
  /** The upstream has finished, and not all files are in the file store yet. */
  readonly isCopying: boolean
  /** When the upstream was last asked again for the links of its results. */
  readonly refreshed: number | undefined
  readonly callback: Callback | undefined
  readonly created: number
  readonly changed: number
  readonly deadline: number
  /** When a finished task is deleted. */
  readonly expires: number
  /** Succeeded after it had failed by its deadline. */
  readonly late: boolean
  /** The upstream answers the call itself, and is not polled. */
  readonly isCall: boolean
  /** Time of the latest submit. */
  readonly started: number | undefined
}

const parse = <T>(text: unknown): T | undefined =>
  typeof text === 'string' && text !== '' ? (JSON.parse(text) as T) : undefined

export const taskOf = (row: Row): Task => ({
  id: String(row.id),
  account: Number(row.account),
  key: row.key === null ? undefined : Number(row.key),
  request: String(row.request),
  route: String(row.route),
  path: String(row.path),
  model: String(row.model),
  state: String(row.state) as State,
  body: parse<Fields>(row.summary) ?? parse<Fields>(row.body) ?? {},
  isCut: Number(row.is_cut) === 1,
  parts: Number(row.parts ?? 0),
  meters: parse<Meters>(row.meters),
  reported: parse<ReportedUsage>(row.reported),
  slots: parse<Task['slots']>(row.slots) ?? {},
  target: parse<Target>(row.target) ?? { upstream: '' },
  hold: parse<KeptHold>(row.hold),
  upstreamId: row.upstream_id === null ? undefined : String(row.upstream_id),
  attempts: Number(row.attempts),
  failures: Number(row.failures),
  progress: Number(row.progress),
  error: parse<TaskError>(row.error),
  results: parse<readonly Json[]>(row.results) ?? [],
  copies: parse<readonly Copy[]>(row.copies) ?? [],
  isCopying: row.copy_due !== null,
  refreshed: row.refreshed === null ? undefined : Number(row.refreshed),
  callback: parse<Callback>(row.callback),
  created: Number(row.created),
  changed: Number(row.changed),
  deadline: Number(row.deadline),
  expires: Number(row.expires),
  late: Number(row.late) === 1,
  isCall: Number(row.is_call) === 1,
  started: row.started === null ? undefined : Number(row.started),
})

/** 2020-01-01, so that ids have 18 digits until 2050. */
const EPOCH = 1_577_836_800_000
const RANDOM_BITS = 20n
/** The number in an id, which may have a prefix. */
export const numberOfTaskId = (id: string): bigint => BigInt(id.replace(/^\D*/, ''))
export const timeOfTaskId = (id: string): number =>
  Number(numberOfTaskId(id) >> RANDOM_BITS) + EPOCH
/** 18 digits that grow with time. Two tasks of one millisecond differ by 20 random bits. */
export const makeTaskId = (now: number, random: number): string =>
  String((BigInt(now - EPOCH) << RANDOM_BITS) + BigInt(Math.floor(random * 2 ** 20)))
