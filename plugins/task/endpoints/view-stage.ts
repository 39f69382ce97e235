/** The stage of a route that shows or changes existing tasks. */
import type { Host, Stage } from '../../../engine/plugin.ts'
import { withKnownParameters } from '../../schema/known-parameters.ts'
import { ReplyStage } from '../calls/view.ts'
import { startJobs } from '../jobs.ts'
import { SpeedStage } from '../modes/speed.ts'
import { isResultView, type Options } from '../options.ts'
import type { TaskRunner } from '../runner.ts'
import { ViewStage } from '../views.ts'
import { ACCOUNT_VIEWS } from './about.ts'
import { type AccountOptions, isAccountView } from './account-options.ts'
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
  if (isAccountView(options)) return strict(new AccountTasksStage(host, runner, options), options)
  return isResultView(options)
    ? new ResultStage(host, runner, options)
    : new ViewStage(host, runner, { dialect: options.dialect, view: options.view })
}
const strict = (stage: AccountTasksStage, { view }: AccountOptions): Stage => ({
  answers: true,
  handle: withKnownParameters(ACCOUNT_VIEWS[view], exchange => stage.handle(exchange)),
  explain: () => stage.explain(),
})
