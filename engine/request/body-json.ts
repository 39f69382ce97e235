/** The JSON of a request's body: it is checked once, and parsed in full or as an outline when a
 *  stage reads it. Most stages read its structure only, and most of an agent's bytes are texts. */
import type { Bytes, Json } from '../plugin.ts'
import { parseChecked, parseJson, parseOutline } from './json.ts'

export class BodyJson {
  readonly #body: { readonly whole: Bytes | undefined }
  #whole: Json | undefined
  #outline: Json | undefined
  #origin: 'unread' | 'bytes' | 'set' = 'unread'

  /** `body`: its bytes, which are there before anything is read. */
  constructor(body: { readonly whole: Bytes | undefined }) {
    this.#body = body
  }
  get isRead(): boolean {
    return this.#origin !== 'unread'
  }
  get hasWhole(): boolean {
    return this.#whole !== undefined
  }
  whole(): Json {
    if (this.#whole === undefined)
      this.#whole = this.isRead ? parseChecked(this.#bytes) : parseJson(this.#bytes)
    this.#begin()
    this.#outline = undefined
    return this.#whole
  }
  /** All of it where it was parsed in full before. */
  outline(): Json {
    if (this.#whole !== undefined) return this.#whole
    if (this.#outline !== undefined) return this.#outline
    const { json, isOutline } = parseOutline(this.#bytes)
    if (isOutline) this.#outline = json
    else this.#whole = json
    this.#begin()
    return json
  }
  /** Sets the JSON of a body that is none, or of a changed one. */
  set(value: Json): void {
    this.#whole = value
    this.#outline = undefined
    this.#origin = 'set'
  }
  /** What was parsed from bytes is forgotten, and parsed again if it is needed. */
  release(): void {
    if (this.#origin !== 'bytes') return
    this.#whole = undefined
    this.#outline = undefined
  }
  #begin(): void {
    if (this.#origin === 'unread') this.#origin = 'bytes'
  }
  get #bytes(): Bytes {
    return this.#body.whole ?? Buffer.alloc(0)
  }
}
