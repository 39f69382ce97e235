/** The request of a task as the bytes that are submitted. */
import { asFault } from '../../../engine/errors.ts'
import type { Host } from '../../../engine/plugin.ts'
import { inlineImages } from '../../file-store/image-places.ts'
import { OneByOne } from '../../pieces/one-by-one.ts'
import type { TaskDialect } from '../dialects/dialect.ts'
import { taskDialects } from '../dialects/index.ts'
import { backOff, type Mover } from '../moves.ts'
import type { TaskRule } from '../options.ts'
import type { Fields } from '../task.ts'
import { endWithOwner } from './ended-owner.ts'
import { jsonBytes, readRequest } from './stored-request.ts'
import { submitRequest, withOwnMembers } from './submit-request.ts'

export interface RequestBytes {
  readonly path: string
  readonly body: Buffer
}
/** Large requests of this process, one at a time: until it is bytes, each takes four times its
 *  size, and to free that of twenty with 14 MB stops the worker for 125 ms. */
const largeRequestsOf = (host: Host): OneByOne =>
  host.share('large requests', '1', () => new OneByOne())

/** Undefined if a file that it names cannot be read, or its owner has ended: then the task has
 *  failed, or is tried again. */
export const requestBytes = (
  host: Host,
  rule: TaskRule,
  mover: Mover,
): Promise<RequestBytes | undefined> => {
  const { task } = mover
  const read = async (): Promise<RequestBytes | undefined> => {
    const request = await readFiles(host, rule, mover, await readRequest(host.database, task))
    if (!request) return undefined
    const { path, members } = submitRequest({ ...task, body: request }, rule)
    return { path, body: await jsonBytes(await withOwnMembers(host, rule, members, task.id)) }
  }
  if (task.parts === 0) return read()
  // Its owner may end while it waits for others.
  return largeRequestsOf(host).run(async () =>
    (await endWithOwner(host, mover)) ? undefined : read(),
  )
}
/** The request with the files that it names. */
const readFiles = async (
  host: Host,
  { dialect, poll }: TaskRule,
  mover: Mover,
  body: Fields,
): Promise<Fields | undefined> => {
  const { task } = mover
  const { images }: TaskDialect = taskDialects[dialect]
  if (!images) return body
  try {
    // The create has checked that its caller sees them.
    return await inlineImages(host, images, { body, caller: { id: task.account } })
  } catch (error) {
    const { status, message } = asFault(error)
    if (status < 500) await mover.fail({ code: images.lostCode, message })
    else {
      host.log.warn({ task: task.id, error }, 'could not read a file that a task names')
      await mover.retry(backOff(task, poll.first, poll.longest))
    }
    return undefined
  }
}
