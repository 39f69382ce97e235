/** A pool of an upstream over undici, for what the client of the hot path does not do: proxies,
 *  certificates of its own, HTTP/2. */
import type { Dispatcher, Pool } from 'undici'
import type { ResponseConnection, ResponseHandler } from '../http-client/connection.ts'
import { KEEP_IDLE_MS } from '../http-client/pool.ts'
import { formatHead, type Request, UnsendableRequest } from '../http-client/request-head.ts'
import { HEAD_LIMIT, type ResponseHeaders } from '../http-client/response-head.ts'
import type { UpstreamPool } from '../upstream/origin.ts'
import type { Connector } from './connector.ts'

/** Unanswered requests in a row, after which new connections are opened. */
const MOST_UNANSWERED = 3

export class GeneralPool implements UpstreamPool {
  readonly #url: URL
  readonly #connections: number
  readonly #openConnector: () => Promise<Connector>
  #connector: Promise<Connector> | undefined
  #pool: Promise<Pool> | undefined
  /** Requests in a row that were given up without a response. */
  #unanswered = 0

  constructor(address: string, connections: number, openConnector: () => Promise<Connector>) {
    this.#url = new URL(address)
    this.#connections = connections
    this.#openConnector = openConnector
  }
  /** Opened once, for the pool and for WebSockets. */
  get connector(): Promise<Connector> {
    this.#connector ??= this.#openConnector()
    return this.#connector
  }
  /** Throws UnsendableRequest; later errors go to the handler. */
  send(request: Request, handler: ResponseHandler): void {
    formatHead(this.#url.host, request)
    this.#pool ??= this.#open()
    this.#pool
      .then(pool => {
        if (handler.over) return
        pool.dispatch(this.#optionsOf(request), new Receiver(handler, this.#onOutcome))
      })
      .catch((error: Error) => handler.onError(error))
  }
  /** An HTTP/2 connection that died in silence would take every later request. */
  #onOutcome = (isAnswered: boolean): void => {
    this.#unanswered = isAnswered ? 0 : this.#unanswered + 1
    if (this.#unanswered < MOST_UNANSWERED) return
    this.#unanswered = 0
    const previous = this.#pool
    this.#pool = undefined
    void previous?.then(pool => pool.close())
  }
  /** Resolves when every request under way or queued has ended. */
  async close(): Promise<void> {
    await (await this.#pool)?.close()
    if (this.#connector) (await this.#connector).close()
  }
  async #open(): Promise<Pool> {
    const [{ Pool }, connector] = await Promise.all([import('undici'), this.connector])
    return new Pool(this.#url.origin, {
      connect: (_, callback) => connector.connect(callback),
      connections: this.#connections,
      // The handler has the deadlines.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_IDLE_MS.usual,
      keepAliveTimeoutThreshold: KEEP_IDLE_MS.margin,
      keepAliveMaxTimeout: KEEP_IDLE_MS.most,
      maxHeaderSize: HEAD_LIMIT,
    })
  }
  /** undici sends any method, and sets `connection`. With one server name it opens no further
   *  connection for another Host header. */
  #optionsOf({ method, path, headers, body }: Request) {
    const sendable = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'connection')
    return {
      method: method as Dispatcher.HttpMethod,
      path,
      headers: Object.fromEntries(sendable),
      body: (body ?? null) as Buffer | null,
      servername: this.#url.hostname,
    }
  }
}

/** Passes a response on. Keeps each chunk for the rest of a turn: the last one becomes the tail. */
class Receiver implements Dispatcher.DispatchHandler, ResponseConnection {
  readonly #handler: ResponseHandler
  #onOutcome: ((isAnswered: boolean) => void) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #chunk: Buffer | undefined
  #flushing: NodeJS.Immediate | undefined

  constructor(handler: ResponseHandler, onOutcome: (isAnswered: boolean) => void) {
    this.#handler = handler
    this.#onOutcome = onOutcome
  }
  get paused(): boolean {
    return this.#controller?.paused ?? false
  }
  pause(): void {
    this.#controller?.pause()
  }
  resume(): void {
    this.#controller?.resume()
  }
  abort(): void {
    this.#report(false)
    this.#controller?.abort(new Error('the request was abandoned'))
  }
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#handler.over) this.abort()
    else this.#handler.onStart(this)
  }
  onResponseStart(_: unknown, status: number, headers: object): void {
    if (status < 200) return
    this.#report(true)
    this.#handler.onHead(status, headers as ResponseHeaders)
  }
  onResponseData(_: unknown, chunk: Buffer): void {
    this.#flush()
    this.#chunk = chunk
    this.#flushing = setImmediate(() => this.#flush())
  }
  onResponseEnd(): void {
    clearImmediate(this.#flushing)
    this.#handler.onEnd(this.#chunk)
  }
  onResponseError(_: unknown, error: Error & { readonly code?: string }): void {
    this.#flush()
    const isUnsendable = error.code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'
    this.#handler.onError(isUnsendable ? new UnsendableRequest(error.message) : error)
  }
  /** The first outcome counts. */
  #report(isAnswered: boolean): void {
    this.#onOutcome?.(isAnswered)
    this.#onOutcome = undefined
  }
  #flush(): void {
    clearImmediate(this.#flushing)
    const chunk = this.#chunk
    this.#chunk = undefined
    if (chunk) this.#handler.onData(chunk)
  }
}
