/** Shows operators what is open and what needs a decision: gauges, and reminders of tasks
 *  in the state `unknown`. */
import type { Host } from '../../engine/plugin.ts'
import type { TaskRoute } from './runner.ts'
import { COUNTS, makeUnknownDue, remindOfUnknown } from './statements.ts'

/** ms between two reminders of one task. */
const REMIND_AFTER = 86_400_000
/** Reminders of one route in one run; the next run goes on. */
const MAX_REMINDERS = 100

/** Raises the alarm again for tasks that nobody has decided. */
export const remind = async (
  { database, log, metrics }: Pick<Host, 'database' | 'log' | 'metrics'>,
  routes: ReadonlyMap<string, Pick<TaskRoute, 'rule'>>,
): Promise<void> => {
  const now = Date.now()
  for (const [route, { rule }] of routes) {
    if (!rule) continue
    const { unknownAfter } = rule
    // Tasks of earlier versions, and of an earlier `unknown_after: hold`, are due for nothing.
    if (unknownAfter !== undefined)
      await database.write([makeUnknownDue(route, now - unknownAfter, now)])
    const before = now - REMIND_AFTER
    const [rows = []] = await database.write([remindOfUnknown(route, before, now, MAX_REMINDERS)])
    for (const { id, model, changed } of rows) {
      metrics.count('tasks_unknown_reminders_total', { model: String(model) })
      log.error(
        { task: id, model, since: new Date(Number(changed)).toISOString() },
        'it is still unknown whether the upstream got this task; decide with `tollgate tasks resolve`',
      )
    }
  }
}

export const measure = async ({ database, metrics }: Host): Promise<void> => {
  const rows = await database.read(COUNTS, [])
  const now = Date.now()
  for (const state of ['accepted', 'submitting', 'submitted', 'running', 'unknown']) {
    const row = rows.find(each => each.state === state)
    metrics.gauge('tasks_open', { state }, Number(row?.number ?? 0))
    const age = row ? Math.max(0, now - Number(row.oldest)) / 1_000 : 0
    metrics.gauge('tasks_oldest_seconds', { state }, age)
    if (state === 'running' || state === 'submitted') {
      const due = row?.due === null || row?.due === undefined ? now : Number(row.due)
      metrics.gauge('tasks_poll_lag_seconds', { state }, Math.max(0, now - due) / 1_000)
    }
  }
}
