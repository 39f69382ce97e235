/** Plugin `account`: answers with balance, usage, keys or prices of the calling account. The option
 *  selects the view. */
import { oneOf } from '../../engine/config/shape.ts'
import type { Host, Plugin, Stage } from '../../engine/plugin.ts'
import { withholdReply } from '../operator/operation.ts'
import { withKnownParameters } from '../schema/known-parameters.ts'
import { ABOUT, isStrict } from './about.ts'
import { commands } from './command.ts'
import { ownLogs, tokenLogs } from './new-api/logs.ts'
import { createToken, deleteToken, listTokens, showToken, updateToken } from './new-api/tokens.ts'
import { operationViews } from './own-operations.ts'
import { priceSheet } from './price-sheet.ts'
import { pricing } from './pricing.ts'
import { receipt } from './receipt.ts'
import type { ViewFactory } from './response.ts'
import { ownModels, siteStatus } from './site.ts'
import {
  balance,
  dashboardUsage,
  profile,
  remainingCredits,
  subscription,
  tokenUsage,
} from './status.ts'
import { overview, usage, usageEvents } from './usage.ts'

const VIEWS: Readonly<Record<string, ViewFactory<Host>>> = {
  site: siteStatus,
  models: ownModels,
  'log-self': ownLogs,
  'log-token': tokenLogs,
  'new-api-tokens': listTokens,
  'new-api-token': showToken,
  'new-api-create': createToken,
  'new-api-update': updateToken,
  'new-api-delete': deleteToken,
  info: profile,
  balance,
  'token-usage': tokenUsage,
  pricing,
  'price-sheet': priceSheet,
  subscription,
  spent: dashboardUsage,
  credits: remainingCredits,
  usage,
  'usage-events': usageEvents,
  overview,
  receipt,
  ...operationViews,
}

export default {
  schema: oneOf('The account view that this route returns.', Object.keys(VIEWS), {
    type: 'string',
    examples: ['info', 'list-keys'],
  }).schema,
  // `auth` sets the account.
  after: ['auth'],
  // It owns the failed calls.
  needs: ['observe'],
  commands,
  setup(name, host): Stage {
    const view = VIEWS[name]
    if (!view) throw new Error(`unknown view "${name}"`)
    const answer = view(host)
    const about = ABOUT[name] ?? {}
    const handle = isStrict(name) ? withKnownParameters(about, answer) : answer
    return {
      answers: true,
      handle(exchange) {
        withholdReply(exchange)
        return handle(exchange)
      },
      describe: () => about,
      explain: () => ({ view: name }),
    }
  },
} satisfies Plugin<string>
