/** Plugin `openapi`: documents that are derived from the running configuration: OpenAPI 3.1, and
 *  llms.txt. Each is built once for a configuration, when it is first asked for. */
import { createHash } from 'node:crypto'
import type { Bytes, Exchange, Headers, Host, HostBase, Plugin } from '../../engine/plugin.ts'
import { fields, text } from '../shapes.ts'
import { documentOf } from './document.ts'
import { llmsText } from './llms.ts'

interface Kind {
  readonly summary: string
  readonly type: string
  readonly schema: typeof fields
  write(host: HostBase): string
}
const KINDS: Readonly<Record<string, Kind>> = {
  document: {
    summary: 'This document: the calls of the gateway as OpenAPI 3.1',
    type: 'application/vnd.oai.openapi+json',
    schema: fields,
    write: host => JSON.stringify(documentOf(host)),
  },
  llms: {
    summary: 'Shows endpoints, models and prices as text for language models',
    type: 'text/plain',
    schema: text,
    write: llmsText,
  },
}

export default {
  schema: {
    description:
      'A document about the running routes: document (OpenAPI 3.1), or llms (llms.txt for language models).',
    type: 'string',
    enum: Object.keys(KINDS),
    examples: ['document'],
  },
  setup(name, host) {
    const kind = KINDS[name]
    if (!kind) throw new Error(`there is no document "${name}"`)
    const { hash } = host.config
    const { summary, type, schema } = kind
    const pages = host.share(`openapi/${name}`, hash, () => new Page(host, kind))
    return {
      answers: true,
      describe: () => ({ summary, responses: { [type]: schema } }),
      handle: async exchange => pages.send(exchange),
      explain: () => ({ document: name }),
    }
  },
} satisfies Plugin<string>

class Page {
  readonly #host: Host
  readonly #kind: Kind
  #content: { readonly bytes: Bytes; readonly etag: string } | undefined
  constructor(host: Host, kind: Kind) {
    this.#host = host
    this.#kind = kind
  }
  send(exchange: Exchange): void {
    this.#content ??= this.#write()
    const { bytes, etag } = this.#content
    const headers: Headers = { etag, 'cache-control': 'public, max-age=60' }
    const known = exchange.request.headers['if-none-match']?.split(/\s*,\s*/)
    if (known?.some(each => each.replace(/^W\//, '') === etag))
      return void exchange.answer(304, undefined, headers)
    const type = `${this.#kind.type}; charset=utf-8`
    exchange.answer(200, bytes, { ...headers, 'content-type': type })
  }
  #write() {
    const bytes = Buffer.from(this.#kind.write(this.#host))
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    return { bytes, etag }
  }
}
