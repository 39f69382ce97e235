/** Tasks as answers show them: whole one by one, shortened in lists. No answer of tasks is larger
 *  than 4 MiB. */
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { withWholeTexts } from '../requests/stored-request.ts'
import { shorten, withoutData } from '../requests/summary.ts'
import type { Task } from '../task.ts'
import { showTask } from './results.ts'

/** Bytes of the request and the results of one task. */
const ONE_LIMIT = 4 * 2 ** 20 - 64 * 1024
/** Bytes of the requests and results of a list: a dialect may show a text three times. */
const LIST_LIMIT = 2 ** 20

/** For an answer about this task alone. */
export const showWhole = async (task: Task, host: HostBase, now = Date.now()): Promise<Task> => {
  const visible = await showTask(await withWholeTexts(host.database, task), host, now)
  if (bytesOf(visible.body) + bytesOf(visible.results) <= ONE_LIMIT) return visible
  const short = await shortenTask(visible)
  // Results come before the customer's own media.
  return bytesOf(visible.results) <= ONE_LIMIT ? { ...short, results: visible.results } : short
}
/** For a list. */
export const showListed = async (
  tasks: readonly Task[],
  host: HostBase,
): Promise<readonly Task[]> => {
  const visible: Task[] = []
  for (const task of tasks) visible.push(await shortenTask(await showTask(task, host)))
  const bytes = visible.reduce(
    (sum, { body, results }) => sum + bytesOf(body) + bytesOf(results),
    0,
  )
  if (bytes <= LIST_LIMIT) return visible
  const limit = Math.floor(LIST_LIMIT / visible.length / 2)
  return visible.map(task => ({
    ...task,
    body: shorten(task.body, limit),
    results: shorten(task.results, limit),
  }))
}
const shortenTask = async (task: Task): Promise<Task> => ({
  ...task,
  body: shorten(await withoutData(task.body)),
  results: shorten(await withoutData(task.results)),
})
const bytesOf = (json: Json): number => Buffer.byteLength(JSON.stringify(json))
