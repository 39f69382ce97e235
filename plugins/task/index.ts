/** Plugin `task`: makes a slow call of an upstream a durable task. `task:` on a route creates
 *  tasks, or shows them. */
import type { Host, Plugin, Stage } from '../../engine/plugin.ts'
import { CallTasks } from './calls/call-tasks.ts'
import { CallCreateStage } from './calls/create.ts'
import { callRuleOf } from './calls/options.ts'
import { CreateStage } from './create.ts'
import { describeTasks } from './endpoints/about.ts'
import { viewStageOf } from './endpoints/view-stage.ts'
import { startJobs } from './jobs.ts'
import { commands, offerToOperators } from './operator-part.ts'
import { type Options, ruleOf, SCHEMA } from './options.ts'
import { upstreamSchemas } from './poll-rate.ts'
import { checkRoutes } from './problems.ts'
import { TaskRunner } from './runner.ts'
import { migrations } from './tables.ts'
import { UpstreamTasks } from './upstream-tasks.ts'

const METRICS = {
  tasks_open: 'Unfinished tasks by state.',
  tasks_oldest_seconds: 'Age of the oldest unfinished task in the state.',
  tasks_poll_lag_seconds: 'How long the next poll of a task is overdue.',
  tasks_settle_seconds: 'Seconds from the answer that ended a task until its end was stored.',
  tasks_total: 'Tasks that ended, by state.',
  tasks_late_total: 'Tasks that succeeded after they had failed by their deadline.',
  tasks_unknown_total: 'Tasks of which it became unknown whether the upstream got them.',
  tasks_unknown_released_total:
    'Tasks that failed because it stayed unknown whether the upstream got them.',
  tasks_unknown_reminders_total: 'Reminders of tasks that are still unknown.',
  tasks_refused_total: "Tasks that the upstream refused because of the operator's account.",
  task_copies_total: 'Tasks whose files were copied, or that ended with a link of the upstream.',
  task_callback_attempts_total: 'Attempts to deliver callbacks, by outcome.',
  task_callbacks_pending: 'Callbacks not yet delivered, including those between attempts.',
  task_callbacks_oldest_seconds: 'How long the oldest pending callback is overdue.',
}

export default {
  schema: SCHEMA,
  // It takes the hold over, and prices are known by then.
  after: ['meter'],
  before: ['translate'],
  needs: ['meter'],
  upstream: upstreamSchemas,
  migrations,
  commands,
  metrics: METRICS,
  check: checkRoutes,
  setup: (options, host): Stage =>
    Object.assign(stageOf(options, host), { describe: () => describeTasks(options) }),
} satisfies Plugin<Options>

const stageOf = (options: Options, host: Host): Stage => {
  offerToOperators(host)
  const runner = host.share('tasks', '1', () => new TaskRunner())
  if ('view' in options) return viewStageOf(options, host, runner)
  const job = startJobs(host, runner)
  if ('call' in options) {
    const callRule = callRuleOf(options)
    runner.addRoute(host.route.name, new CallTasks(host, callRule))
    return new CallCreateStage(host, callRule, job)
  }
  const rule = ruleOf(options)
  runner.addRoute(host.route.name, new UpstreamTasks(host, rule))
  return new CreateStage(host, rule, job)
}
