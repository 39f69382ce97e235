/** One line of the output file or of the error file. Pure. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { parseJson } from '../formats/fields.ts'
import type { Line } from './batch.ts'

/** The code of requests that were not sent in time. */
export const EXPIRED = 'batch_expired'

interface Answer {
  readonly status: number
  readonly request: string
  readonly body: Json
}
const entryOf = ({ batch, line, customId }: Line, more: object): string =>
  JSON.stringify({
    id: `batch_req_${batch.replace(/^batch_/, '')}_${line}`,
    custom_id: customId,
    ...more,
  })
export const answerOutcome = (line: Line, { status, request, body }: Answer): string =>
  entryOf(line, { response: { status_code: status, request_id: request, body }, error: null })
/** Of a request without an answer. */
export const errorOutcome = (line: Line, code: string, message: string): string =>
  entryOf(line, { response: null, error: { code, message } })

/** A body that is not JSON is a text. */
export const parseBody = (bytes: Bytes): Json => {
  const text = Buffer.from(bytes).toString()
  return parseJson(text) ?? text
}
