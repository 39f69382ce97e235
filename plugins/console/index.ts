/** Plugin `console`: the page at /console and its files, sign-in, the endpoints of operators. */

import { oneOf } from '../../engine/config/shape.ts'
import type { Exchange, Host, Plugin, Stage } from '../../engine/plugin.ts'
import { isValidated } from '../schema/route-option.ts'
import { CONSOLE } from '../slots.ts'
import { describeConsole } from './about.ts'
import { adminListenerEndpoints, adminView } from './admin/serve.ts'
import { file, folder, home, page } from './app-files.ts'
import { commands } from './command.ts'
import { SECTION } from './section.ts'
import { showSession, signIn, signOut } from './sessions.ts'

const VIEWS: Readonly<Record<string, (host: Host) => (exchange: Exchange) => Promise<void>>> = {
  home,
  page,
  file,
  folder,
  'sign-in': signIn,
  session: showSession,
  'sign-out': signOut,
  admin: adminView,
}

export default {
  schema: oneOf('The part of the console that this route serves.', Object.keys(VIEWS), {
    type: 'string',
    examples: ['page'],
  }).schema,
  sections: { console: SECTION.schema },
  // `auth` sets the account and owns the sessions; `meter` owns the balances,
  // `observe` the failed calls.
  after: ['auth', 'validate'],
  needs: ['auth', 'meter', 'observe'],
  commands,
  admin: adminListenerEndpoints,
  setup(name, host): Stage {
    const view = VIEWS[name]
    if (!view) throw new Error(`unknown view "${name}"`)
    if (name === 'sign-in' && !isValidated(host.route))
      throw new Error('"sign-in" takes a body: set its schema with `validate:`')
    const handle = view(host)
    return {
      answers: true,
      handle(exchange) {
        // Operators' scripts use these endpoints, too.
        if (name !== 'admin') exchange.slots.set(CONSOLE, true)
        return handle(exchange)
      },
      describe: () => describeConsole(name, host.route.pattern),
      explain: () => ({ view: name }),
    }
  },
} satisfies Plugin<string>
