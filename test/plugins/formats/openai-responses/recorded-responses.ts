/** Reads recorded responses without our codec. */
import { type Recording, recordings } from '../../../helpers/formats/recordings.ts'

export interface Item {
  readonly [member: string]: unknown
  readonly id?: string
  readonly type: string
  readonly name?: string
  readonly call_id?: string
  readonly arguments?: string
  readonly input?: string
  readonly result?: string | null
  readonly encrypted_content?: string | null
  readonly summary?: readonly { readonly text: string }[]
  readonly content?: readonly {
    readonly type: string
    readonly text?: string
    readonly annotations?: readonly object[]
  }[]
}
export interface Response {
  readonly status: string
  readonly output: readonly Item[]
  readonly usage?: {
    readonly input_tokens: number
    readonly output_tokens: number
    readonly total_tokens: number
    readonly input_tokens_details?: { readonly cached_tokens?: number }
    readonly output_tokens_details?: { readonly reasoning_tokens?: number }
  } | null
}
export interface Event {
  readonly [member: string]: unknown
  readonly type: string
  readonly output_index?: number
  readonly item?: Item
  readonly response?: Response
}

/** Recordings that are not answers of this format: a chat stream, an error, background responses,
 *  and a handmade stream whose deltas differ from its end. */
const OTHER: ReadonlySet<string> = new Set(
  '0344 0345 0277 0162 0164 0303'.split(' ').map(number => `rec-${number}`),
)

export const recordedResponses = (): readonly Recording[] =>
  (recordings() ?? []).filter(
    ({ id, format, status }) => format.startsWith('responses') && status === 200 && !OTHER.has(id),
  )

export const eventsOf = (stream: string): readonly Event[] =>
  stream
    .split(/\r?\n/)
    .filter(line => line.startsWith('data:'))
    .map(line => JSON.parse(line.slice(5)) as Event)

/** For a stream, the finished items: three recordings hold several streams, of which the first is
 *  read. */
export const recordedResponse = ({ stream, response_body: body }: Recording): Response => {
  if (!stream) return JSON.parse(body) as Response
  const events = eventsOf(body)
  const end = events.findIndex(({ type }) => type === 'response.completed')
  const items: Item[] = []
  for (const { type, item, output_index: at } of events.slice(0, end))
    if (type === 'response.output_item.done' && item && at !== undefined) items[at] = item
  const { status = '', usage = null } = events[end]?.response ?? {}
  return { status, usage, output: items }
}

export const textIn = ({ output }: Pick<Response, 'output'>): string =>
  output
    .filter(({ type }) => type === 'message')
    .flatMap(({ content = [] }) => content.map(({ text = '' }) => text))
    .join('')

/** One upstream sends its own searches in the shape of free-text tool calls. */
export const callsIn = ({ output }: Pick<Response, 'output'>): readonly object[] =>
  output
    .filter(
      ({ type, call_id: id }) =>
        /^(function|custom_tool)_call$/.test(type) && !id?.startsWith('xs_'),
    )
    .map(({ call_id: id, name, arguments: args, input }) => ({
      id,
      name,
      given: args === undefined ? input : JSON.parse(args || '{}'),
    }))

export const thoughtsIn = ({ output }: Pick<Response, 'output'>): string =>
  output
    .filter(({ type }) => type === 'reasoning')
    .flatMap(({ summary = [], content = [] }) => {
      const parts = summary.length > 0 ? summary : content
      return parts.length > 0 ? [parts.map(({ text = '' }) => text).join('\n\n')] : []
    })
    .join('\n')

export const citationsIn = ({ output }: Pick<Response, 'output'>): number =>
  output
    .flatMap(({ content = [] }) => content)
    .reduce((sum, { annotations = [] }) => sum + annotations.length, 0)

export const countsIn = ({ usage }: Pick<Response, 'usage'>) =>
  usage && {
    input: usage.input_tokens,
    output: usage.output_tokens,
    total: usage.input_tokens + usage.output_tokens,
    cached: usage.input_tokens_details?.cached_tokens ?? 0,
    thinking: usage.output_tokens_details?.reasoning_tokens ?? 0,
  }
