/** A batch, its lines, and how clients see it. Pure but for new ids. */
import { randomBytes } from 'node:crypto'
import type { Json, Row } from '../../engine/plugin.ts'
import type { BATCH_STATES, BatchCounts, BatchView } from '../rows/work.ts'

export type BatchState = (typeof BATCH_STATES)[number]
export type Ending = 'completed' | 'cancelled' | 'expired'

/** ms since 1970 by the name of the state. */
type Times = Readonly<Partial<Record<BatchState, number>>>
/** A problem of the input file. */
export type LineError = {
  readonly code: string
  readonly message: string
  readonly param: string | null
  /** From 1; null: the whole file. */
  readonly line: number | null
}
export interface Batch extends BatchCounts {
  readonly id: string
  readonly account: number
  /** The slots that `host.run` restores for each line. */
  readonly slots: Readonly<Record<string, Json>>
  readonly endpoint: string
  readonly route: string
  readonly inputFile: string
  readonly metadata: Json
  /** ms that the files with the results are kept; undefined: the time of files for batches. */
  readonly outputLifetime: number | undefined
  readonly state: BatchState
  readonly ending: Ending | undefined
  readonly times: Times
  readonly errors: readonly LineError[]
  readonly outputFile: string | undefined
  readonly errorFile: string | undefined
  readonly created: number
  readonly expires: number
}
export interface Line {
  readonly batch: string
  /** From 1. */
  readonly line: number
  readonly customId: string
  /** Bytes in the input file. */
  readonly start: number
  readonly size: number
  readonly attempts: number
  /** The attempts that a limit or a busy upstream ended. */
  readonly waits: number
}

/** The endpoint of batches of messages, which have endpoints of their own. */
export const MESSAGES = '/v1/messages'

export const makeBatchId = (): string => `batch_${randomBytes(16).toString('hex')}`

const text = (value: Row[string] | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value)
const json = (value: Row[string] | undefined): Json => JSON.parse(text(value) ?? 'null')

export const batchOf = (row: Row): Batch => ({
  id: String(row.id),
  account: Number(row.account),
  slots: json(row.slots) as Batch['slots'],
  endpoint: String(row.endpoint),
  route: String(row.route),
  inputFile: String(row.input_file),
  metadata: json(row.metadata),
  outputLifetime: row.output_lifetime === null ? undefined : Number(row.output_lifetime),
  state: String(row.state) as BatchState,
  ending: text(row.ending) as Ending | undefined,
  times: json(row.times) as Times,
  errors: (json(row.errors) ?? []) as unknown as readonly LineError[],
  total: Number(row.total),
  completed: Number(row.completed),
  failed: Number(row.failed),
  outputFile: text(row.output_file),
  errorFile: text(row.error_file),
  created: Number(row.created),
  expires: Number(row.expires),
})
export const lineOf = (row: Row): Line => ({
  batch: String(row.batch),
  line: Number(row.line),
  customId: String(row.custom_id),
  start: Number(row.start),
  size: Number(row.size),
  attempts: Number(row.attempts),
  waits: Number(row.waits),
})
export const isFinal = ({ state }: Pick<Batch, 'state'>): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled' || state === 'expired'

const seconds = (ms: number | undefined): number | null =>
  ms === undefined ? null : Math.floor(ms / 1_000)

/** As OpenAI's clients see it. */
export const batchView = (batch: Batch): BatchView => {
  const { times, errors } = batch
  const isEnded = isFinal(batch)
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors: errors.length > 0 ? { object: 'list', data: errors } : null,
    input_file_id: batch.inputFile,
    completion_window: '24h',
    status: batch.state,
    output_file_id: isEnded ? (batch.outputFile ?? null) : null,
    error_file_id: isEnded ? (batch.errorFile ?? null) : null,
    created_at: Math.floor(batch.created / 1_000),
    in_progress_at: seconds(times.in_progress),
    expires_at: seconds(batch.expires),
    finalizing_at: seconds(times.finalizing),
    completed_at: seconds(times.completed),
    failed_at: seconds(times.failed),
    expired_at: seconds(times.expired),
    cancelling_at: seconds(times.cancelling),
    cancelled_at: seconds(times.cancelled),
    request_counts: {
      total: batch.total,
      completed: batch.completed,
      failed: batch.failed,
    },
    metadata: batch.metadata as BatchView['metadata'],
  }
}
