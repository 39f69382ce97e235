/** The stage of a route that shows or changes existing tasks. */
import type { Host, Stage } from '../../../engine/plugin.ts'
import { ReplyStage } from '../calls/view.ts'
import { startJobs } from '../jobs.ts'
import { SpeedStage } from '../modes/speed.ts'
import { isResultView, type Options } from '../options.ts'
import type { TaskRunner } from '../runner.ts'
import { ViewStage } from '../views.ts'
import { isAccountView } from './account-options.ts'
import { AccountTasksStage } from './account-tasks.ts'
import { ChangeStage } from './change-notices.ts'
import { ResultStage } from './result-stage.ts'

export const viewStageOf = (
  options: Extract<Options, { readonly view: unknown }>,
  host: Host,
  runner: TaskRunner,
): Stage => {
  if (options.view === 'reply') return new ReplyStage(host)
  if (options.view === 'speed') return new SpeedStage(host, options.dialect)
  if (options.view === 'changed') return new ChangeStage(host, startJobs(host, runner))
  if (isAccountView(options)) return new AccountTasksStage(host, runner, options)
  return isResultView(options)
    ? new ResultStage(host, runner, options)
    : new ViewStage(host, runner, { dialect: options.dialect, view: options.view })
}
