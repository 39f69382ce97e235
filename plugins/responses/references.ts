/** Items that a request only refers to: looked up among what its account has kept, and put in their place. What is not
 *  there is refused by its name: an upstream would look for it among what others asked it. */
import type { Database, Json, Row } from '../../engine/plugin.ts'
import { type Fields, wordIn } from '../formats/fields.ts'
import { itemsOf, type Kept, referenceOf, saidIn } from '../formats/openai-responses/history.ts'
import { TURN } from './conversation-statements.ts'
import { fault } from './faults.ts'
import { isId } from './keeping.ts'
import { listed } from './listing.ts'
import { inputOf, LARGEST, LONGEST, toldOf } from './shelf.ts'
import { FIND, FIND_ITEM } from './statements.ts'

/** The whole input; undefined where nothing in it refers to anything. `context`: what stands in front of it. */
export const dereferenced = async (
  database: Pick<Database, 'read'>,
  account: number | undefined,
  input: Json | undefined,
  context: readonly Kept[],
): Promise<readonly Fields[] | undefined> => {
  const items = itemsOf(input)
  if (items.every(item => referenceOf(item) === undefined)) return undefined
  const said = new Set(saidIn(context).map(item => wordIn(item, 'id')))
  const known = new Map<string, Fields>()
  const whole: Fields[] = []
  let size = 0
  for (const item of items) {
    const id = referenceOf(item)
    // It is there already, where it was said.
    if (id !== undefined && said.has(id)) continue
    const meant = id === undefined ? item : (known.get(id) ?? (await find(database, account, id)))
    if (!meant) throw fault('ITEM_MISSING', [id])
    if (id !== undefined) known.set(id, meant)
    // One item may be named often.
    size += JSON.stringify(meant).length
    if (size > LARGEST || known.size > LONGEST)
      throw fault('CONTEXT_TOO_LONG', [LARGEST, LONGEST], { param: 'input' })
    whole.push(meant)
  }
  return whole
}

/** What a listing of ours calls an item that came without a name: the response or the turn it was said in, and its place. */
const PLACED = /^[a-z]+_(.+)_\d+$/

const find = async (
  database: Pick<Database, 'read'>,
  account: number | undefined,
  id: string,
): Promise<Fields | undefined> => {
  if (account === undefined || !isId(id)) return undefined
  const named = (items: readonly Fields[]) => items.find(item => item.id === id)
  const now = Date.now()
  const [row] = await database.read(FIND_ITEM, [account, id, now])
  if (row) return named(itemsOf(toldOf(row).output))
  const [, owner] = PLACED.exec(id) ?? []
  if (owner === undefined) return undefined
  const [response] = await database.read(FIND, [account, owner, now])
  if (response) return named(listed(inputOf(response), owner))
  const [turn] = await database.read(TURN, [account, owner, now])
  return turn && named(listed(valuesIn(turn), owner))
}
const valuesIn = ({ items }: Row): readonly Json[] => JSON.parse(String(items)) as Json[]
