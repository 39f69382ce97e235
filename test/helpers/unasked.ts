/** The usage chunk that a gateway requests from an upstream for billing, and removes where the
 *  client did not request it. */
import { eventsIn } from '../../plugins/formats/sse.ts'
import type { Case } from '../fixtures/upstream/cases/case.ts'

/** Whether the gateway requests usage that the client of this stream did not request. */
export const hidesUsage = ({ request }: Case): boolean => {
  const { stream, stream_options: options } = (request ?? {}) as {
    readonly stream?: boolean
    readonly stream_options?: { readonly include_usage?: boolean }
  }
  return stream === true && options?.include_usage !== true
}
export const isUsageChunk = (chunk: unknown): boolean => {
  const { choices, usage } = (chunk ?? {}) as {
    readonly choices?: unknown[]
    readonly usage?: unknown
  }
  return choices?.length === 0 && typeof usage === 'object' && usage !== null
}
export const visibleBytes = (one: Case): Buffer => {
  const all = Buffer.from(one.body)
  const whole = all.subarray(0, all.length - Buffer.byteLength(one.behindEnd ?? ''))
  if (!hidesUsage(one)) return whole
  const events = eventsIn(whole).filter(
    ({ data }) => data === undefined || !data.startsWith('{') || !isUsageChunk(parseData(data)),
  )
  return events.length === 0
    ? whole
    : Buffer.concat(events.map(({ start, end }) => whole.subarray(start, end)))
}
const parseData = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
export const withUsageOption = (one: Case, body: string): string => {
  if (!hidesUsage(one)) return body
  const { stream_options: options } = (one.request ?? {}) as { readonly stream_options?: object }
  return options
    ? JSON.stringify({ ...JSON.parse(body), stream_options: { ...options, include_usage: true } })
    : `${body.slice(0, -1)},"stream_options":{"include_usage":true}}`
}
