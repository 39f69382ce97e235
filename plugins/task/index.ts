/** Plugin `task`: makes a slow call of an upstream a durable task. `task:` on a route creates
 *  tasks, or shows them. */
import { nearest } from '../../engine/config/nearest.ts'
import type { Document, Plugin, Report, Stage } from '../../engine/plugin.ts'
import { emptyOutbox } from '../webhooks/outbox.ts'
import { measure, remind } from './alarms.ts'
import { callbackQueue } from './callbacks.ts'
import { deleteExpiredTasks } from './cleanup.ts'
import { commands } from './commands.ts'
import { CreateStage } from './create.ts'
import { type Options, ruleOf, SCHEMA } from './options.ts'
import { POLLS } from './poll-rate.ts'
import { TaskRunner, TICK } from './runner.ts'
import { migrations } from './tables.ts'
import { UpstreamTasks } from './upstream-tasks.ts'
import { ViewStage } from './views.ts'

/** ms between two measurements of the open tasks. */
const MEASURE_INTERVAL = 10_000
/** ms between two deletions of expired tasks. */
const CLEANUP_INTERVAL = 600_000
/** ms between two looks for tasks whose fate is unknown for long. */
const REMIND_INTERVAL = 60_000

interface RouteEntry {
  readonly task?: { readonly upstreams?: readonly string[] }
}
const checkUpstreams = (document: Document, report: Report): void => {
  const known = Object.keys((document.upstreams ?? {}) as object)
  const routes = (document.routes ?? []) as unknown as readonly RouteEntry[]
  for (const [index, { task }] of routes.entries())
    for (const [at, name] of (task?.upstreams ?? []).entries()) {
      if (known.includes(name)) continue
      const message = `there is no upstream named ${JSON.stringify(name)}`
      const where = ['routes', index, 'task', 'upstreams', at]
      report(where, 'UNKNOWN_UPSTREAM', message, nearest(name, known))
    }
}

export default {
  schema: SCHEMA,
  // It takes the hold over, and prices are known by then.
  after: ['meter'],
  before: ['translate'],
  needs: ['meter'],
  upstream: { polls: POLLS },
  migrations,
  commands,
  check: checkUpstreams,
  setup(options, host): Stage {
    const runner = host.share('tasks', '1', () => new TaskRunner())
    if ('view' in options) return new ViewStage(host, runner, options)
    const rule = ruleOf(options)
    runner.addRoute(host.route.name, new UpstreamTasks(host, rule))
    host.job('open tasks', MEASURE_INTERVAL, () => measure(host))
    host.job('expired tasks', CLEANUP_INTERVAL, signal => deleteExpiredTasks(host.database, signal))
    host.job('unknown tasks', REMIND_INTERVAL, () => remind(host, runner.routes))
    host.job('task callbacks', 1_000, signal =>
      emptyOutbox({ ...host, queue: callbackQueue(host) }, signal),
    )
    const job = host.job('tasks', TICK, signal => runner.run(host, signal), { each: true })
    return new CreateStage(host, rule, job)
  },
} satisfies Plugin<Options>
