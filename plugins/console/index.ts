/** Plugin `console`: the page at /console and its files, sign-in, the endpoints of operators. */
import { oneOf } from '../../engine/config/shape.ts'
import { isFields, routesIn } from '../../engine/kit.ts'
import type { Document, Exchange, Host, Plugin, Report, Stage } from '../../engine/plugin.ts'
import { withholdReply } from '../operator/operation.ts'
import { isValidated } from '../schema/route-option.ts'
import { CONSOLE } from '../slots.ts'
import { describeConsole } from './about.ts'
import { adminListenerEndpoints, adminView } from './admin/serve.ts'
import { file, folder, home, page } from './app-files.ts'
import { commands } from './command.ts'
import { endByProvider } from './provider-logout.ts'
import { beginProviderSignIn, finishProviderSignIn } from './provider-sign-in.ts'
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
  provider: beginProviderSignIn,
  callback: finishProviderSignIn,
  logout: endByProvider,
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
  check: checkSignIn,
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
        withholdReply(exchange)
        return handle(exchange)
      },
      describe: () => describeConsole(name, host.route.pattern),
      explain: () => ({ view: name }),
    }
  },
} satisfies Plugin<string>

/** Reports a client of an identity provider that no route signs in with. */
function checkSignIn({ identity, ...document }: Document, report: Report): void {
  if (!isFields(identity) || identity.client_id === undefined) return
  const views = routesIn(document as Document).map(([, route]) => route.console)
  if (['provider', 'callback'].every(view => views.includes(view))) return
  const message =
    'there is no sign-in: no routes have `console: provider` and `console: callback`; include tollgate:console.yaml'
  report(['identity', 'client_id'], 'IDENTITY_OPTION', message)
}
