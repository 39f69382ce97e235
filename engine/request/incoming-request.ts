/** A client's request as the stages see it: its head, and its body as bytes, a stream or JSON. */
import type { IncomingMessage } from 'node:http'
import type { TrustedProxies } from '../config/trusted-proxies.ts'
import { LARGE, largeTurn } from '../kit.ts'
import type { Bytes, Json } from '../plugin.ts'
import type { RequestHeaders } from '../response/headers.ts'
import { type BodyRules, IncomingBody } from './body.ts'
import type { BodyPace } from './body-pace.ts'
import type { EngineRequest } from './exchange.ts'
import { parseJson } from './json.ts'

export interface RequestTarget {
  /** Canonical, without the query. */
  readonly path: string
  /** The query as it came. */
  readonly search: string
  readonly headers: RequestHeaders
  /** The client's connection is TLS. */
  readonly encrypted: boolean
  /** Whose headers name the client. */
  readonly proxies?: TrustedProxies
}

export class IncomingRequest implements EngineRequest {
  readonly method: string
  readonly path: string
  readonly headers: RequestHeaders
  readonly search: string
  readonly body: IncomingBody
  readonly #incoming: IncomingMessage
  readonly #target: RequestTarget
  #query: URLSearchParams | undefined
  #parsedJson: Json | undefined
  /** Whether it was parsed from the bytes, and can be parsed again. */
  #isFromBytes = false

  constructor(incoming: IncomingMessage, target: RequestTarget, rules: BodyRules, pace: BodyPace) {
    this.method = incoming.method ?? 'GET'
    this.path = target.path
    this.search = target.search
    this.headers = target.headers
    this.body = new IncomingBody(incoming, target.headers, rules, pace)
    this.#target = target
    this.#incoming = incoming
  }
  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.search)
    return this.#query
  }
  get client(): EngineRequest['client'] {
    const peer = this.#incoming.socket.remoteAddress ?? ''
    const { encrypted, proxies } = this.#target
    const address = proxies?.clientAddress(peer, this.headers['x-forwarded-for']) ?? peer
    return { address, encrypted }
  }
  bytes(): Promise<Bytes> {
    return this.body.bytes()
  }
  stream(): AsyncGenerator<Bytes> {
    return this.body.stream()
  }
  stop(): void {
    this.body.stop()
  }
  async json(): Promise<Json> {
    if (this.#parsedJson !== undefined) return this.#parsedJson
    const bytes = await this.bytes()
    if (bytes.length >= LARGE) await largeTurn()
    if (this.#parsedJson === undefined) {
      this.#parsedJson = parseJson(bytes)
      this.#isFromBytes = true
    }
    return this.#parsedJson
  }
  get parsed(): Json | undefined {
    const { whole } = this.body
    if (this.#isFromBytes && whole) this.#parsedJson ??= parseJson(whole)
    return this.#parsedJson
  }
  setJson(value: Json): void {
    this.#parsedJson = value
    this.#isFromBytes = false
  }
  release(): void {
    if (this.#isFromBytes) this.#parsedJson = undefined
  }
}
