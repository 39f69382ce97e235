/** A batch of messages as Anthropic's clients see it, and its results. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientText, parseJson } from '../formats/fields.ts'
import { type Batch, isFinal } from './batch.ts'
import { EXPIRED } from './outcome.ts'

const PREFIX = 'msg'
export const messageBatchId = ({ id }: Pick<Batch, 'id'>): string => PREFIX + id
/** The id of the batch in the store; '' for a text that is not an id. */
export const batchIdOf = (id: string): string =>
  id.startsWith(PREFIX) ? id.slice(PREFIX.length) : ''

const time = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString()

/** `resultsUrl`: where the results are once it has ended. */
export const messageBatchView = (batch: Batch, resultsUrl: string) => {
  const { state, times, created, expires } = batch
  const isEnded = isFinal(batch)
  return {
    id: messageBatchId(batch),
    type: 'message_batch',
    processing_status: isEnded ? 'ended' : state === 'cancelling' ? 'canceling' : 'in_progress',
    request_counts: countsOf(batch),
    created_at: time(created),
    expires_at: time(expires),
    ended_at: isEnded ? time(times[state] ?? created) : null,
    cancel_initiated_at: time(times.cancelling ?? times.cancelled),
    archived_at: null,
    results_url: isEnded ? resultsUrl : null,
  }
}
const countsOf = (batch: Batch) => {
  const { state, total, completed: succeeded, failed: errored } = batch
  const rest = total - succeeded - errored
  const counts = { processing: 0, succeeded, errored, canceled: 0, expired: 0 }
  if (!isFinal(batch)) return { ...counts, processing: rest }
  if (state === 'cancelled') return { ...counts, canceled: rest }
  return state === 'expired' ? { ...counts, expired: rest } : { ...counts, errored: errored + rest }
}

/** A result with its `custom_id`, from a line of the output file or of the error file. */
export const resultOf = (line: string): { readonly custom_id: string; readonly result: Json } => {
  const entry = parseJson(line)
  const fields: Fields = isFields(entry) ? entry : {}
  const { status_code: status = 0, body = null } = lenientObject(fields, 'response')
  return { custom_id: lenientText(fields, 'custom_id') ?? '', result: readResult() }

  function readResult(): Json {
    if (status === 200) return { type: 'succeeded', message: body }
    const { code, message = '' } = lenientObject(fields, 'error')
    if (code === EXPIRED) return { type: 'expired' }
    const error: Json = isFields(body)
      ? { request_id: null, ...body }
      : { type: 'error', error: { type: 'api_error', message: message || body }, request_id: null }
    return { type: 'errored', error }
  }
}
