/** Plugin `task`: makes a slow call of an upstream a durable task. `task:` on a route creates
 *  tasks, or shows them. */
import type { Plugin, Stage } from '../../engine/plugin.ts'
import { CallTasks } from './calls/call-tasks.ts'
import { CallCreateStage } from './calls/create.ts'
import { callRuleOf } from './calls/options.ts'
import { commands } from './commands.ts'
import { CreateStage } from './create.ts'
import { viewStageOf } from './endpoints/view-stage.ts'
import { startJobs } from './jobs.ts'
import { type Options, ruleOf, SCHEMA } from './options.ts'
import { POLLS } from './poll-rate.ts'
import { checkRoutes } from './problems.ts'
import { TaskRunner } from './runner.ts'
import { migrations } from './tables.ts'
import { UpstreamTasks } from './upstream-tasks.ts'

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
  },
} satisfies Plugin<Options>
