/** Plugin `task`: makes a slow call of an upstream a durable task. `task:` on a route creates
 *  tasks, or shows them. */
import { nearest } from '../../engine/config/nearest.ts'
import type { Document, Plugin, Report, Stage } from '../../engine/plugin.ts'
import { CallTasks } from './calls/call-tasks.ts'
import { CallCreateStage } from './calls/create.ts'
import { callRuleOf } from './calls/options.ts'
import { ReplyStage } from './calls/view.ts'
import { commands } from './commands.ts'
import { CreateStage } from './create.ts'
import { startJobs } from './jobs.ts'
import { type Options, ruleOf, SCHEMA } from './options.ts'
import { POLLS } from './poll-rate.ts'
import { TaskRunner } from './runner.ts'
import { migrations } from './tables.ts'
import { UpstreamTasks } from './upstream-tasks.ts'
import { ViewStage } from './views.ts'

interface RouteEntry {
  readonly form?: object
  readonly task?: { readonly call?: object; readonly upstreams?: readonly string[] }
}
const checkRoutes = (document: Document, report: Report): void => {
  const known = Object.keys((document.upstreams ?? {}) as object)
  const routes = (document.routes ?? []) as unknown as readonly RouteEntry[]
  for (const [index, { form, task }] of routes.entries()) {
    if (form && task?.call)
      report(
        ['routes', index, 'task', 'call'],
        'FORM_AS_TASK',
        'a form cannot run as a task; remove `task` or `form`',
      )
    for (const [at, name] of (task?.upstreams ?? []).entries()) {
      if (known.includes(name)) continue
      const message = `there is no upstream named ${JSON.stringify(name)}`
      const where = ['routes', index, 'task', 'upstreams', at]
      report(where, 'UNKNOWN_UPSTREAM', message, nearest(name, known))
    }
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
  check: checkRoutes,
  setup(options, host): Stage {
    const runner = host.share('tasks', '1', () => new TaskRunner())
    if ('view' in options && options.view === 'reply') return new ReplyStage(host)
    if ('view' in options) return new ViewStage(host, runner, options)
    const job = startJobs(host, runner)
    if ('call' in options) {
      const callRule = callRuleOf(options)
      runner.addRoute(host.route.name, new CallTasks(host, callRule))
      return new CallCreateStage(host, callRule, job)
    }
    const rule = ruleOf(options)
    runner.addRoute(host.route.name, new UpstreamTasks(host, rule))
    return new CreateStage(host, rule, job)
  },
} satisfies Plugin<Options>
