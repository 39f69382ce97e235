/** The request as if the client had sent the whole conversation that it continues, and the items to
 *  which it refers. */
import type { Exchange, Host, Next, Stage } from '../../engine/plugin.ts'
import type { Caller } from '../credentials/members.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { prependHistory, type StoredExchange } from '../formats/openai-responses/history.ts'
import { ACCOUNT, EXPANDED_REQUEST } from '../slots.ts'
import { resolveReferences } from './item-references.ts'
import { readHistory } from './response-store.ts'
import { readStorageOptions, type StorageOptions } from './storage-options.ts'

export interface Expansion {
  /** With the items in place of references to them. */
  readonly resolvedBody: Fields
  /** The request for the target, without members for the gateway only. Undefined if it equals what
   *  the client sent. */
  readonly targetBody: Fields | undefined
  /** Whether the conversation or an item was added. */
  readonly isExpanded: boolean
  /** When the first response of the conversation was created, ms. */
  readonly start: number | undefined
}
export const expandRequest = async (
  { database }: Pick<Host, 'database'>,
  caller: Caller | undefined,
  body: Fields,
  options: StorageOptions,
): Promise<Expansion> => {
  const history = isContinued(options) ? await readHistory(database, caller, options) : undefined
  const context = history?.exchanges
  const resolvedInput = await resolveReferences(database, caller, body.input, {
    ...(context && { context }),
  })
  const resolvedBody = resolvedInput ? { ...body, input: resolvedInput } : body
  const isExpanded = context !== undefined || resolvedInput !== undefined
  const targetBody = targetRequest(resolvedBody, options, context, isExpanded)
  return { resolvedBody, targetBody, isExpanded, start: history?.start }
}
const isContinued = ({ previous, conversation }: StorageOptions): boolean =>
  previous !== undefined || conversation !== undefined
const targetRequest = (
  body: Fields,
  options: StorageOptions,
  context: readonly StoredExchange[] | undefined,
  isExpanded: boolean,
): Fields | undefined => {
  const { store, background: _, background_options: __, ...rest } = body
  if (context) return prependHistory(rest, context)
  return isExpanded || store === true || options.background ? rest : undefined
}

/** For routes whose answers are not stored: the later stages get the whole conversation. */
export class ExpandStage implements Stage {
  readonly #host: Host
  constructor(host: Host) {
    this.#host = host
  }
  async handle({ request, slots }: Exchange, next: Next): Promise<void> {
    const body = request.parsed ?? (await request.json())
    if (!isFields(body)) return next()
    const caller = slots.get(ACCOUNT)
    const options = readStorageOptions({ ...body, background: null })
    const { targetBody, isExpanded } = await expandRequest(this.#host, caller, body, options)
    if (targetBody && isExpanded) {
      const size = Buffer.byteLength(JSON.stringify(targetBody))
      slots.set(EXPANDED_REQUEST, { body: targetBody, size, longer: true })
    }
    return next()
  }
}
