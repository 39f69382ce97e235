/** Calls the HTTP APIs of the gateway with the session of the browser. */
import type { SessionView } from '../../views.ts'

/** The path prefix of the gateway, for one behind `PUBLIC_URL` with a path. */
const PREFIX = location.pathname.replace(/\/console\/?$/, '')

/** A refusal, with the API's own message. */
export class ApiError extends Error {
  readonly status: number
  /** The field that is wrong. */
  readonly param: string | undefined
  readonly requestId: string | undefined
  constructor(status: number, message: string, param?: string, requestId?: string) {
    super(message)
    this.status = status
    this.param = param
    this.requestId = requestId
  }
}

// The token of the session; a page has one session.
const state: { csrf: string; onSignedOut: () => void } = { csrf: '', onSignedOut: () => {} }
export const useSession = (session: SessionView | undefined, onSignedOut: () => void): void => {
  state.csrf = session?.csrf ?? ''
  state.onSignedOut = onSignedOut
}

export interface CallOptions {
  readonly body?: unknown
  /** Sent unchanged: a form, a file. */
  readonly raw?: BodyInit
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** The browser asks again, although it has a response that may still be used. */
  readonly isFresh?: boolean
}
/** The address of a path of the gateway, for links and media. */
export const addressOf = (path: string): string => PREFIX + path

/** The response, whatever its status. */
export const send = (
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Response> => {
  const { body, raw, headers = {}, signal, isFresh } = options
  const content = body === undefined ? raw : JSON.stringify(body)
  return fetch(addressOf(path), {
    method,
    credentials: 'same-origin',
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && { 'x-csrf-token': state.csrf }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
    ...(signal && { signal }),
    ...(isFresh && { cache: 'no-cache' as const }),
  })
}

/** The JSON of a response. Throws ApiError for refusals. */
export const call = async <T>(method: string, path: string, options?: CallOptions): Promise<T> => {
  const response = await send(method, path, options)
  if (!response.ok) throw await errorOf(response)
  return (await response.json()) as T
}
/** The `data` of an envelope. */
export const callData = async <T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> =>
  (await call<{ readonly data: T }>(method, path, { body, ...(signal && { signal }) })).data

/** Shows the sign-in if the session has ended. */
export const checkSession = async (): Promise<void> => {
  const response = await send('GET', '/api/session').catch(() => undefined)
  // A body that nobody reads keeps its connection, of which a browser has six.
  await response?.text()
  if (response?.status === 401) state.onSignedOut()
}

/** The error of a refusal, in whichever dialect it was sent. */
export const errorOf = async (response: Response): Promise<ApiError> => {
  const text = await response.text()
  const { message, param } = refusalIn(text)
  const id = response.headers.get('x-request-id') ?? undefined
  const isSignIn = response.url.endsWith('/api/session')
  if (response.status === 401 && !isSignIn) state.onSignedOut()
  return new ApiError(response.status, message || `HTTP ${response.status}`, param, id)
}
interface RefusalBody {
  readonly message?: string
  readonly description?: string
  readonly param?: string
  readonly error?: { readonly message?: string; readonly param?: string }
}
/** */
const refusalIn = (text: string): { readonly message: string; readonly param?: string } => {
  try {
    const body = JSON.parse(text) as RefusalBody
    const param = body.param ?? body.error?.param
    return {
      message: body.error?.message ?? body.message ?? body.description ?? '',
      ...(param && { param }),
    }
  } catch {
    return { message: text.slice(0, 300) }
  }
}
