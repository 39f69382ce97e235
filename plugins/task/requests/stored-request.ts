/** Stores the request of a task apart from its row, and reads it again for its submit. */
import { largeTurn } from '../../../engine/kit.ts'
import type { Database, Json, Statement } from '../../../engine/plugin.ts'
import { bytesOf, jsonPieces, piecesOf } from '../../pieces/json-pieces.ts'
import { PieceQueue } from '../../pieces/piece-queue.ts'
import type { Meters } from '../../slots.ts'
import type { Fields, State, Task } from '../task.ts'
import { addPart, deleteParts, PARTS, type StoredRequest, WHOLE } from './statements.ts'
import { shorten, WHOLE_LIMIT, withoutData } from './summary.ts'

/** Pieces that one read returns. */
const PAGE = 8

/** The forms of a request that answers show. */
export const describeRequest = async (
  body: Fields,
): Promise<Pick<StoredRequest, 'summary' | 'whole'>> => {
  const described = await withoutData(body)
  const summary = shorten(described)
  const isCut = summary !== described
  const isShowable = isCut && Buffer.byteLength(JSON.stringify(described)) <= WHOLE_LIMIT
  return { summary, whole: isShowable ? described : undefined }
}
/** Makes the pieces of a request durable, if its summary is not all of it. Comes before the row of
 *  its task: pieces without a row are removed later. */
export const storeRequest = async (
  database: Pick<Database, 'write'>,
  { id, body, created }: Pick<Task, 'id' | 'body' | 'created'>,
  meters: Meters | undefined,
  queue = new PieceQueue(),
): Promise<StoredRequest> => {
  const { summary, whole } = await describeRequest(body)
  if (summary === body) return { summary, whole, meters, parts: 0 }
  let parts = 0
  for (const piece of jsonPieces(body)) {
    await queue.write(database, addPart(id, parts, piece, created))
    parts++
  }
  return { summary, whole, meters, parts }
}
/** The request as JSON, in pieces. */
export const readRequestText = async (
  database: Pick<Database, 'read'>,
  { id, body, parts }: Pick<Task, 'id' | 'body' | 'parts'>,
): Promise<readonly string[]> => {
  if (parts === 0) return [JSON.stringify(body)]
  const pieces: string[] = []
  for (let first = 0; first < parts; first += PAGE) {
    const rows = await database.read(PARTS, [id, first, first + PAGE])
    pieces.push(...rows.map(({ piece }) => String(piece)))
  }
  if (pieces.length !== parts) throw new Error(`the request of the task ${id} is incomplete`)
  return pieces
}
/** The request as it came, after its defaults. */
export const readRequest = async (
  database: Pick<Database, 'read'>,
  task: Pick<Task, 'id' | 'body' | 'parts'>,
): Promise<Fields> => {
  if (task.parts === 0) return task.body
  const pieces = await readRequestText(database, task)
  await largeTurn()
  const text = pieces.join('')
  await largeTurn()
  return JSON.parse(text)
}
const SENDING: ReadonlySet<State> = new Set(['accepted', 'submitting', 'unknown'])
/** Deletes the pieces once nothing sends the request any more. */
export const forgetRequest = (
  { id, state, parts }: Pick<Task, 'id' | 'state' | 'parts'>,
  after: Pick<Task, 'state'>,
): readonly Statement[] =>
  parts > 0 && SENDING.has(state) && !SENDING.has(after.state) ? [deleteParts(id)] : []

/** The bytes of JSON, written over several turns of the event loop where they are many. */
export const jsonBytes = async (json: Json): Promise<Buffer> => bytesOf(await piecesOf(json))
/** The task with the texts of its request uncut, for an answer about this task alone. */
export const withWholeTexts = async (
  database: Pick<Database, 'read'>,
  task: Task,
): Promise<Task> => {
  if (!task.isCut) return task
  const [row] = await database.read(WHOLE, [task.id])
  return typeof row?.whole === 'string' ? { ...task, body: JSON.parse(row.whole) } : task
}
