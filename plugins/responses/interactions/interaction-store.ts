/** Interactions in the store of responses: each is a row that names the one before it. Their ids
 *  have a prefix that no id of a response can have. */
import type { Database, Json, Row, Statement } from '../../../engine/plugin.ts'
import { type Caller, type Owner, ownerOf, readAs } from '../../credentials/members.ts'
import { type Fields, isFields, lenientText, parseJson } from '../../formats/fields.ts'
import type { Account } from '../../slots.ts'
import { fault } from '../faults.ts'
import {
  MAX_BYTES,
  MAX_RESPONSES,
  readHistoryRows,
  readInputJson,
  responseOf,
} from '../response-store.ts'
import {
  cancelResponse,
  deleteResponse,
  FIND,
  finishResponse,
  forgetCall,
  saveResponse,
  withdrawResponse,
} from '../statements.ts'
import { isId, type StorageLimits } from '../storage-options.ts'

type Store = Pick<Database, 'read'>

export const rowId = (interaction: string): string => `interaction ${interaction}`

/** The input of a client as steps: what a later interaction continues. */
export const stepsOf = (input: Json | undefined): readonly Fields[] => {
  if (typeof input === 'string') return [userInput([{ type: 'text', text: input }])]
  const items = (Array.isArray(input) ? input : [input]).filter(isFields)
  const areContents = items.every(({ type }) => typeof type === 'string' && CONTENTS.has(type))
  return areContents ? [userInput(items)] : items
}
const CONTENTS: ReadonlySet<string> = new Set(['text', 'image', 'audio', 'document', 'video'])
const userInput = (content: readonly Fields[]): Fields => ({ type: 'user_input', content })

/** The conversation that a request continues. */
export interface StoredConversation {
  readonly steps: readonly Fields[]
  /** When its first interaction was created, ms. */
  readonly start: number
}
export const readConversation = async (
  database: Store,
  caller: Caller | undefined,
  interaction: string,
): Promise<StoredConversation> => {
  const rows =
    caller && isId(interaction) ? await readHistoryRows(database, caller, rowId(interaction)) : []
  const [first] = rows
  if (rows.some(row => interactionOf(row).status === 'in_progress'))
    throw fault('INTERACTION_UNFINISHED', [interaction])
  // Without its beginning, or after one that was deleted, the conversation cannot be continued.
  if (!first || (first.previous !== null && rows.length < MAX_RESPONSES))
    throw fault('INTERACTION_MISSING', [interaction])
  const size = rows.reduce((sum, { input, response }) => sum + sizeOf(input) + sizeOf(response), 0)
  if (first.previous !== null || size > MAX_BYTES)
    throw fault('INTERACTIONS_TOO_LONG', [MAX_BYTES, MAX_RESPONSES])
  return {
    steps: rows.flatMap(row => [...inputOf(row), ...outputOf(row)]),
    start: Number(first.created),
  }
}
const sizeOf = (column: Row[string] | undefined): number => String(column).length
const inputOf = ({ input }: Row): readonly Fields[] => stepsOf(parseJson(String(input)))
/** The interaction with its current status. */
const interactionOf = (row: Row): Fields => {
  const { error, ...interaction } = responseOf(row)
  return error === undefined ? interaction : { ...interaction, errors: [error] }
}
const outputOf = (row: Row): readonly Fields[] => {
  const { steps } = interactionOf(row)
  return Array.isArray(steps) ? steps.filter(isFields) : []
}

/** The values that store an interaction. */
export interface InteractionStorage extends InteractionFacts {
  /** JSON of its steps, without those of the conversation before; empty in the background, where
   *  its row is stored already. */
  readonly input: string
  /** Its row exists already. */
  readonly background?: true
}
export interface InteractionFacts extends Owner {
  readonly id: string
  /** ms. */
  readonly created: number
  /** The id of the interaction before. */
  readonly previous?: string
}
export const storageFor = (
  account: Account,
  facts: Omit<InteractionFacts, keyof Owner>,
): InteractionFacts => ({ ...ownerOf(account), ...facts })
/** The row of an interaction that runs in the background. */
export const backgroundRow = ({ account, maker, created, previous }: InteractionFacts) => ({
  account,
  maker,
  created,
  ...(previous !== undefined && { previous: rowId(previous) }),
})
/** Empty if it is above the size limit. */
export const interactionStatements = (
  { account, maker, id, created, input, previous, background }: InteractionStorage,
  interaction: Fields,
  { lifetime, largest }: StorageLimits,
): readonly Statement[] => {
  const response = JSON.stringify({
    ...interaction,
    id,
    ...(previous !== undefined && { previous_interaction_id: previous }),
  })
  // The input of one in the background was bounded before it ran.
  const size = background ? response.length : input.length + response.length
  if (size > largest) return []
  const status = lenientText(interaction, 'status') ?? 'completed'
  if (background)
    return [finishResponse(account, rowId(id), status, response), forgetCall(account, rowId(id))]
  const row = {
    account,
    maker,
    id: rowId(id),
    created,
    expires: created + lifetime,
    previous: previous === undefined ? undefined : rowId(previous),
    conversation: undefined,
    status,
    input,
    response,
  }
  return [saveResponse(row)]
}
export const withdrawInteraction = ({ account, id }: InteractionFacts): Statement =>
  withdrawResponse(account, rowId(id))

/** Throws INTERACTION_UNKNOWN. */
export const findInteraction = async (
  database: Store,
  caller: Caller | undefined,
  id: string,
): Promise<Fields> => {
  const [row] =
    caller && isId(id) ? await readAs(database, caller, FIND, [rowId(id), Date.now()]) : []
  if (!row) throw fault('INTERACTION_UNKNOWN', [id])
  return interactionOf(row)
}
export const readSteps = async (
  database: Store,
  account: number,
  id: string,
): Promise<readonly Fields[]> => stepsOf(await readInputJson(database, account, rowId(id)))
/** Does nothing if it is finished. */
export const cancelInteraction = (account: number, id: string): readonly Statement[] => [
  cancelResponse(account, rowId(id)),
  forgetCall(account, rowId(id)),
]
export const deleteInteraction = (account: number, id: string): Statement =>
  deleteResponse(account, rowId(id), Date.now())
