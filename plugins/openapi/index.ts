/** Plugin `openapi`: documents that are derived from the running configuration: OpenAPI 3.1, and
 *  llms.txt. Each is built once for a configuration and a kind of reader, when it is first asked
 *  for: only operators see the calls of operators. */
import { createHash } from 'node:crypto'
import { oneOf } from '../../engine/config/shape.ts'
import type { Bytes, Exchange, Headers, Host, HostBase, Plugin } from '../../engine/plugin.ts'
import { fields, type Shape, text } from '../shapes.ts'
import { ACCOUNT } from '../slots.ts'
import { documentOf } from './document.ts'
import { llmsText } from './llms.ts'
import { customerOperationsOf, type Operation, operationsOf } from './operations.ts'

interface Kind {
  readonly summary: string
  readonly type: string
  readonly schema: Shape
  write(host: HostBase, operations: readonly Operation[]): string
}
const KINDS: Readonly<Record<string, Kind>> = {
  document: {
    summary: 'This document: the calls of the gateway as OpenAPI 3.1',
    type: 'application/vnd.oai.openapi+json',
    schema: fields,
    write: (host, operations) => JSON.stringify(documentOf(host, operations)),
  },
  llms: {
    summary: 'Shows endpoints, models and prices as text for language models',
    type: 'text/plain',
    schema: text,
    write: llmsText,
  },
}

export default {
  schema: oneOf(
    'A document about the running routes: document (OpenAPI 3.1), or llms (llms.txt for language models).',
    Object.keys(KINDS),
    { type: 'string', examples: ['document'] },
  ).schema,
  setup(name, host) {
    const kind = KINDS[name]
    if (!kind) throw new Error(`there is no document "${name}"`)
    const { hash } = host.config
    const { summary, type, schema } = kind
    const pageFor = (reader: string, choose: typeof operationsOf): Page =>
      host.share(`openapi/${name} for ${reader}`, hash, () => new Page(host, kind, choose))
    const ofCustomers = pageFor('customers', customerOperationsOf)
    const ofOperators = pageFor('operators', operationsOf)
    return {
      answers: true,
      describe: () => ({ summary, responses: { [type]: schema } }),
      async handle(exchange) {
        const isOperator = exchange.slots.get(ACCOUNT)?.role === 'admin'
        const page = isOperator ? ofOperators : ofCustomers
        page.send(exchange)
      },
      explain: () => ({ document: name }),
    }
  },
} satisfies Plugin<string>

class Page {
  readonly #host: Host
  readonly #kind: Kind
  readonly #choose: typeof operationsOf
  #content: { readonly bytes: Bytes; readonly etag: string } | undefined
  constructor(host: Host, kind: Kind, choose: typeof operationsOf) {
    this.#host = host
    this.#kind = kind
    this.#choose = choose
  }
  send(exchange: Exchange): void {
    this.#content ??= this.#write()
    const { bytes, etag } = this.#content
    const isShared = exchange.slots.get(ACCOUNT) === undefined
    const headers: Headers = {
      etag,
      'cache-control': `${isShared ? 'public' : 'private'}, max-age=60`,
      vary: 'authorization, cookie',
    }
    const known = exchange.request.headers['if-none-match']?.split(/\s*,\s*/)
    if (known?.some(each => each.replace(/^W\//, '') === etag))
      return void exchange.answer(304, undefined, headers)
    const type = `${this.#kind.type}; charset=utf-8`
    exchange.answer(200, bytes, { ...headers, 'content-type': type })
  }
  #write() {
    const operations = this.#choose(this.#host.gateway.routes)
    const bytes = Buffer.from(this.#kind.write(this.#host, operations))
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    return { bytes, etag }
  }
}
