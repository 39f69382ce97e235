/** Errors in Google's dialect: /v1beta. */
import { retryAfterIn } from '../../engine/kit.ts'
import type { Json, Request } from '../../engine/plugin.ts'
import { fields, integer, list, object, text } from '../shapes.ts'
import { type Dialect, type ErrorView, isStreamInBody } from './dialect.ts'

export const google: Dialect = {
  faults: {
    INSUFFICIENT: { type: 'PERMISSION_DENIED', status: 403 },
    KEY_EXHAUSTED: { type: 'PERMISSION_DENIED', status: 403 },
  },
  statuses: {
    400: { type: 'INVALID_ARGUMENT' },
    401: { type: 'UNAUTHENTICATED' },
    403: { type: 'PERMISSION_DENIED' },
    404: { type: 'NOT_FOUND' },
    405: { type: 'UNIMPLEMENTED' },
    408: { type: 'DEADLINE_EXCEEDED' },
    409: { type: 'ABORTED' },
    429: { type: 'RESOURCE_EXHAUSTED' },
    499: { type: 'CANCELLED' },
    500: { type: 'INTERNAL' },
    501: { type: 'UNIMPLEMENTED' },
    502: { type: 'UNAVAILABLE' },
    503: { type: 'UNAVAILABLE' },
    504: { type: 'DEADLINE_EXCEEDED' },
    529: { type: 'UNAVAILABLE', status: 503 },
  },
  schema: object({
    error: object({ code: integer, message: text, status: text }, { details: list(fields) }),
  }),
  body: (view, { type, status }) => ({
    error: { code: status ?? view.status, message: view.message, status: type, ...details(view) },
  }),
  // Without `alt=sse` a stream of generateContent is one JSON list.
  streams: request =>
    isInteraction(request)
      ? isStreamInBody(request)
      : request.path.includes(':stream') && request.query.get('alt') === 'sse',
  event: (body, request) => {
    if (!isInteraction(request)) return `data: ${JSON.stringify(body)}\r\n\r\n`
    const { code, message } = body.error as { readonly code: number; readonly message: string }
    const event = { event_type: 'error', error: { code: String(code), message } }
    return `event: error\ndata: ${JSON.stringify(event)}\n\n`
  },
}
const isInteraction = ({ path }: Pick<Request, 'path'>): boolean => path.endsWith('/interactions')

/** Google's clients read the retry delay from the body, not from the header. */
const details = ({ headers }: ErrorView): { readonly details?: Json } => {
  const ms = retryAfterIn(headers)
  if (ms === undefined) return {}
  const retry = {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: `${Math.ceil(ms / 1_000)}s`,
  }
  return { details: [retry] }
}
