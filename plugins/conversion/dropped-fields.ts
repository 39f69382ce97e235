/** Fields that a target cannot carry: reported in a header and the log, or refused if the client or
 *  the route is strict. */
import type { Exchange, Log, Reply } from '../../engine/plugin.ts'
import type { Codec, DroppedFields } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { fault } from './faults.ts'

const DROPPED_HEADER = 'x-tollgate-dropped'
/** Adds names to the header that tells the client what was left out. */
export const addDropped = ({ headers }: Pick<Reply, 'headers'>, names: readonly string[]): void => {
  headers[DROPPED_HEADER] = [headers[DROPPED_HEADER] ?? [], names].flat().join(', ')
}
const STRICT_HEADER = 'x-tollgate-strict'
/** Field names in the header. */
const HEADER_FIELD_LIMIT = 32

export class DroppedFieldReport implements DroppedFields {
  #names: Codec['settings']
  readonly #fields = new Set<string>()

  /** `names`: hub setting -> the client format's name of it. */
  constructor(names: Codec['settings']) {
    this.#names = names
  }
  /** Takes the aliases that this client used, in formats with two names for one setting. */
  useAliases(names: Prompt['clientNames']): void {
    if (names) this.#names = { ...this.#names, ...names }
  }
  /** The client's name of a hub's setting. */
  nameOf(field: string): string {
    return this.#names[field] ?? field
  }
  add(field: string): void {
    this.#fields.add(this.nameOf(field))
  }
  /** `name`: as the client wrote it. It may also be the hub's name of another setting. */
  addClientName(name: string): void {
    this.#fields.add(name)
  }
  get fields(): readonly string[] {
    return [...this.#fields]
  }
  /** The header's value. Field names come from the client, so characters that a header cannot hold
   *  are replaced. */
  get header(): string {
    const names = this.fields
      .slice(0, HEADER_FIELD_LIMIT)
      .map(field => field.replace(/[^\x21-\x7e]|,/g, '?'))
    return this.#fields.size > HEADER_FIELD_LIMIT ? `${names.join(', ')}, ...` : names.join(', ')
  }
  /** Reports dropped fields to the client and the operator, if there are any. */
  report(reply: Reply, log: Log, id: string): void {
    if (this.#fields.size === 0) return
    addDropped(reply, [this.header])
    log.info({ id, dropped: this.fields }, 'dropped fields that the target does not support')
  }
  refuse(model: string): void {
    const [field] = this.#fields
    if (field !== undefined) throw fault('FIELD_LOST', [model, field], { param: field })
  }
}

/** Whether dropped fields are refused: by the client's header, or else by the route's option. */
export const isStrict = (route: boolean, { request }: Exchange): boolean => {
  const header = request.headers[STRICT_HEADER]
  return header === undefined ? route : header !== 'false' && header !== '0'
}
