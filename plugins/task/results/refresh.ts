/** Asks the upstream again for the links of a finished task before they expire, if its route says
 *  so (`results: refresh`). */
import type { Host, Json } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { refreshTask } from '../statements.ts'
import type { Task } from '../task.ts'
import { expiryOf } from './link-expiry.ts'
import { isWebUrl, sourcesIn } from './results.ts'

/** ms between two questions about one task. */
const INTERVAL = 60_000
/** ms that a link is valid at least when a customer gets it, if its expiry is known. */
const REST = 3_600_000
/** ms that a customer waits for new links before he gets the old ones. */
const PATIENCE = 10_000

export interface ResultSource {
  readonly rule?: { readonly refreshes: boolean }
  /** The results of a finished task as the upstream has them now; undefined if it has none. Rejects
   *  if the upstream does not answer. */
  askForResults?(task: Task, signal: AbortSignal): Promise<readonly Json[] | undefined>
}

export class ResultRefresher {
  /** The questions under way, by task. */
  readonly #questions = new Map<string, Promise<Task>>()

  /** The task with links that are still valid, or unchanged if the upstream does not answer.
   *  `hasExpired`: a link has been found to be expired, whatever it says. */
  async refresh(
    host: Host,
    task: Task,
    route: ResultSource | undefined,
    hasExpired = false,
  ): Promise<Task> {
    if (!route?.rule?.refreshes || !isDue(task, hasExpired, Date.now())) return task
    const question = this.#questions.get(task.id) ?? this.#begin(host, task, route)
    const { promise: timeout, resolve } = Promise.withResolvers<Task>()
    const timer = setTimeout(resolve, PATIENCE, task)
    return Promise.race([question, timeout]).finally(() => clearTimeout(timer))
  }
  #begin(host: Host, task: Task, route: ResultSource): Promise<Task> {
    const question = ask(host, task, route)
      .catch(error => {
        host.log.warn({ task: task.id, error }, 'new links of a task could not be stored')
        return task
      })
      .finally(() => this.#questions.delete(task.id))
    this.#questions.set(task.id, question)
    return question
  }
}

const isDue = (task: Task, hasExpired: boolean, now: number): boolean => {
  if (task.state !== 'succeeded' || now - (task.refreshed ?? task.changed) < INTERVAL) return false
  const links = sourcesIn(task.results).filter(({ text }) => isWebUrl(text))
  if (links.length === 0 || hasExpired) return links.length > 0
  return links.some(({ text }) => (expiryOf(text) ?? 0) < now + REST)
}
/** The time of the question is stored also where it fails, so that a dead upstream is not asked by
 *  every query. */
const ask = async (host: Host, task: Task, route: ResultSource): Promise<Task> => {
  const signal = AbortSignal.timeout(PATIENCE)
  const answer = await route.askForResults?.(task, signal).catch((error: unknown) => {
    host.log.warn({ task: task.id, error }, 'the links of a task could not be asked for again')
  })
  const results = answer ?? task.results
  const refreshed = Date.now()
  await writeWithRetry(host.database, [refreshTask(task.id, results, refreshed)])
  return { ...task, results, refreshed }
}
