/** The account endpoints: what an account has and has used, its keys, the prices. Answers by itself; `account:` on a route
 *  says with which view. */
import type { Host, Plugin, Stage } from '../../engine/plugin.ts'
import { isValidated } from '../schema/route.ts'
import { commands } from './command.ts'
import { credentialViews } from './credentials.ts'
import { pricing } from './pricing.ts'
import type { ViewFactory } from './response.ts'
import { balance, profile, spent, subscription, tokenUsage } from './status.ts'
import { receipt, usage } from './usage.ts'

const VIEWS: Readonly<Record<string, ViewFactory<Host>>> = {
  info: profile,
  balance,
  'token-usage': tokenUsage,
  pricing,
  subscription,
  spent,
  usage,
  receipt,
  ...credentialViews,
}
/** Their bodies go into the store: a schema must have seen them. */
const WRITES = /^(?:create|update)-/

export default {
  schema: {
    description: 'Which view of an account this route answers with.',
    type: 'string',
    enum: Object.keys(VIEWS),
    examples: ['info', 'list-keys'],
  },
  // The account that is shown.
  after: ['auth'],
  commands,
  setup(name, host): Stage {
    const view = VIEWS[name]
    if (!view) throw new Error(`there is no view "${name}"`)
    if (WRITES.test(name) && !isValidated(host.route))
      throw new Error(`"${name}" takes a body: say by which schema, with \`validate:\``)
    const handle = view(host)
    return { answers: true, handle, explain: () => ({ view: name }) }
  },
} satisfies Plugin<string>
