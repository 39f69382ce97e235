/** Plugin `responses`: stores responses for their account, so that a client can continue one
 *  without sending its history, whatever upstream answers next. `responses:` on a route selects the
 *  operation. */
import { duration, object, oneOf, type RawOf, schemasOf, size } from '../../engine/config/shape.ts'
import type { Plugin, Stage } from '../../engine/plugin.ts'
import { ABOUT } from './about.ts'
import { BackgroundCalls } from './background-calls.ts'
import { CreateStage } from './create.ts'
import { ExpandStage } from './expand.ts'
import { InteractionStage } from './interactions/interaction-stage.ts'
import { deleteExpired } from './response-store.ts'
import { SocketStage } from './socket/socket-stage.ts'
import { migrations } from './tables.ts'
import { ThreadStage } from './threads/thread-stage.ts'
import { VIEWS } from './views.ts'

/** ms between two deletions of expired rows. */
const CLEANUP_INTERVAL_MS = 600_000
/** ms between two looks for background responses whose process ended. */
const RESUME_INTERVAL_MS = 1_000

const time = <const T extends string>(description: string, value: T, units: string) =>
  duration(description, {
    pattern: `^([1-9][0-9]{0,3})(${units})$`,
    default: value,
    examples: [value],
  })
const LIMITS = object(
  'How long responses, conversations, threads and interactions are stored, and their size limit.',
  {
    keep: time(
      'Lifetime of a response, an interaction or a message in a thread, and of a conversation since its latest turn.',
      '30d',
      'h|d',
    ),
    largest: size(
      'Size limit of the input and output of one response, in the background of each of both. A larger one is answered but not stored; in the background a request with a larger one is refused.',
      { pattern: '^([1-9][0-9]{0,3})(KiB|MiB)$', default: '8MiB', examples: ['8MiB'] },
    ),
    socket: time(
      'How long a WebSocket of responses stays open; a response under way ends first.',
      '60m',
      's|m|h',
    ),
  },
  { examples: [{ keep: '30d', largest: '8MiB' }] },
)
interface Section {
  readonly responses?: RawOf<typeof LIMITS>
}

export default {
  schema: oneOf(
    'The operation of the route on stored responses, conversations, threads and interactions. threads, interactions: the gateway keeps those of POST /v1/messages and of POST /v1beta/interactions on every target.',
    ['create', 'expand', 'socket', 'threads', 'interactions', ...Object.keys(VIEWS)],
    { type: 'string', examples: ['create', 'show'] },
  ).schema,
  // `meter` prices the expanded request, `count` counts it; the response that `translate` wrote is
  // stored.
  before: ['meter', 'translate', 'count'],
  after: ['auth'],
  settings: schemasOf({ responses: LIMITS }),
  migrations,
  setup(name, host): Stage {
    const { keep: lifetime, ...others } = LIMITS.read(
      host.section<Section>('settings').responses ?? {},
    )
    const limits = { lifetime, ...others }
    const { database } = host
    const keepClean = () =>
      host.job('stored responses', CLEANUP_INTERVAL_MS, signal => deleteExpired(database, signal))
    if (name === 'threads') {
      keepClean()
      return new ThreadStage(host, limits)
    }
    if (name === 'interactions' || name === 'create') {
      keepClean()
      const version = `2 ${JSON.stringify(limits)}`
      const calls = host.share('responses', version, () => new BackgroundCalls(host, limits))
      host.job('background responses', RESUME_INTERVAL_MS, () => calls.resume(host), { each: true })
      const Stage = name === 'create' ? CreateStage : InteractionStage
      return new Stage(host, limits, calls)
    }
    if (name === 'expand') return new ExpandStage(host)
    if (name === 'socket')
      return new SocketStage(host, { lifetime: limits.socket, largest: limits.largest })
    const view = VIEWS[name]
    if (!view) throw new Error(`there is no view "${name}"`)
    return {
      answers: true,
      describe: () => ABOUT[name] ?? {},
      handle: exchange => view(exchange, { database, limits }),
      explain: () => ({ view: name }),
    }
  },
} satisfies Plugin<string>
