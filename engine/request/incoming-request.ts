/** A client's request as the stages see it: its head, and its body as bytes, a stream or JSON. */
import type { IncomingMessage } from 'node:http'
import type { TrustedProxies } from '../config/trusted-proxies.ts'
import { LARGE, largeTurn } from '../kit.ts'
import type { Bytes, CutBody, Json } from '../plugin.ts'
import type { RequestHeaders } from '../response/headers.ts'
import { type BodyRules, IncomingBody } from './body.ts'
import { BodyJson } from './body-json.ts'
import type { BodyPace } from './body-pace.ts'
import type { EngineRequest } from './exchange.ts'

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
  readonly #json: BodyJson
  constructor(incoming: IncomingMessage, target: RequestTarget, rules: BodyRules, pace: BodyPace) {
    this.method = incoming.method ?? 'GET'
    this.path = target.path
    this.search = target.search
    this.headers = target.headers
    this.body = new IncomingBody(incoming, target.headers, rules, pace)
    this.#json = new BodyJson(this.body, rules.outlines)
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
    if (!this.#json.hasWhole) await this.#arrive()
    return this.#json.whole()
  }
  async outline(): Promise<Json> {
    if (!this.#json.isRead) await this.#arrive()
    return this.#json.outline()
  }
  async #arrive(): Promise<void> {
    const { length } = await this.bytes()
    if (length >= LARGE) await largeTurn()
  }
  get parsed(): Json | undefined {
    return this.#json.isRead ? this.#json.whole() : undefined
  }
  get outlined(): Json | undefined {
    return this.#json.isRead ? this.#json.outline() : undefined
  }
  cut(): CutBody | undefined {
    return this.#json.cut()
  }
  setJson(value: Json): void {
    this.#json.set(value)
  }
  setCaller(name: string): void {
    this.#json.setCaller(name)
  }
  release(): void {
    this.#json.release()
  }
}
