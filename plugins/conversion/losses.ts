/** What a target cannot carry: said in a header and the log, or refused where the client or the route wants nothing lost. */
import type { Exchange, Log, Reply } from '../../engine/plugin.ts'
import type { Codec, Loss } from '../formats/codec.ts'
import type { Prompt } from '../formats/hub.ts'
import { fault } from './faults.ts'

const DROPPED = 'x-tollgate-dropped'
const STRICT = 'x-tollgate-strict'
/** A header longer than this is read by nobody. */
const NAMED_LIMIT = 32

export class Losses implements Loss {
  #names: Codec['settings']
  readonly #fields = new Set<string>()

  /** `names`: what clients call the hub's settings. */
  constructor(names: Codec['settings']) {
    this.#names = names
  }
  /** Of formats with two names for one setting: those that this client wrote, from here on. */
  call(names: Prompt['clientNames']): void {
    if (names) this.#names = { ...this.#names, ...names }
  }
  drop(field: string): void {
    this.#fields.add(this.#names[field] ?? field)
  }
  get fields(): readonly string[] {
    return [...this.#fields]
  }
  /** As a header: field names are the client's own words, so only what a header may hold. */
  get header(): string {
    const named = this.fields
      .slice(0, NAMED_LIMIT)
      .map(field => field.replace(/[^\x21-\x7e]|,/g, '?'))
    return this.#fields.size > NAMED_LIMIT ? `${named.join(', ')}, ...` : named.join(', ')
  }
  /** To the client and to the operator, if there is anything to tell. */
  tell(reply: Reply, log: Log, id: string): void {
    if (this.#fields.size === 0) return
    reply.headers[DROPPED] = this.header
    log.info({ id, dropped: this.fields }, 'fields the target cannot carry')
  }
  refuse(model: string): void {
    const [field] = this.#fields
    if (field !== undefined) throw fault('FIELD_LOST', [field, model], { param: field })
  }
}

/** By the route's option, or by the client's header for this request. */
export const isStrict = (route: boolean, { request }: Exchange): boolean => {
  const asked = request.headers[STRICT]
  return asked === undefined ? route : asked !== 'false' && asked !== '0'
}
