/** Plugin `responses`: stores responses for their account, so that a client can continue one
 *  without sending its history, whatever upstream answers next. `responses:` on a route selects the
 *  operation. */

import { amountIn, DURATIONS, SIZES } from '../../engine/kit.ts'
import type { Host, Plugin, Stage } from '../../engine/plugin.ts'
import { ABOUT } from './about.ts'
import { BackgroundCalls } from './background-calls.ts'
import { CreateStage } from './create.ts'
import { ExpandStage } from './expand.ts'
import { deleteExpired } from './response-store.ts'
import { SocketStage } from './socket/socket-stage.ts'
import type { StorageLimits } from './storage-options.ts'
import { migrations } from './tables.ts'
import { ThreadStage } from './threads/thread-stage.ts'
import { VIEWS } from './views.ts'

const TIME = /^([1-9][0-9]{0,3})(h|d)$/
const SIZE = /^([1-9][0-9]{0,3})(KiB|MiB)$/
const LIFETIME = /^([1-9][0-9]{0,3})(s|m|h)$/
const DEFAULTS = { keep: '30d', largest: '8MiB', socket: '60m' }
/** ms between two deletions of expired rows. */
const CLEANUP_INTERVAL_MS = 600_000
/** ms between two looks for background responses whose process ended. */
const RESUME_INTERVAL_MS = 1_000

export default {
  schema: {
    description:
      'The operation of the route on stored responses, conversations and threads. threads: the gateway keeps threads of POST /v1/messages on every target.',
    type: 'string',
    enum: ['create', 'expand', 'socket', 'threads', ...Object.keys(VIEWS)],
    examples: ['create', 'show'],
  },
  // `meter` prices the expanded request, `count` counts it; the response that `translate` wrote is
  // stored.
  before: ['meter', 'translate', 'count'],
  after: ['auth'],
  settings: {
    responses: {
      description:
        'How long responses, conversations and threads are stored, and their size limit.',
      type: 'object',
      additionalProperties: false,
      properties: {
        keep: {
          description:
            'Lifetime of a response or of a message in a thread, and of a conversation since its latest turn.',
          type: 'string',
          pattern: TIME.source,
          default: DEFAULTS.keep,
          examples: ['30d'],
        },
        largest: {
          description:
            'Size limit of the input and output of one response. A larger one is answered but not stored.',
          type: 'string',
          pattern: SIZE.source,
          default: DEFAULTS.largest,
          examples: ['8MiB'],
        },
        socket: {
          description:
            'How long a WebSocket of responses stays open; a response under way ends first.',
          type: 'string',
          pattern: LIFETIME.source,
          default: DEFAULTS.socket,
          examples: ['60m'],
        },
      },
      examples: [{ keep: '30d', largest: '8MiB' }],
    },
  },
  migrations,
  setup(name, host): Stage {
    const limits = limitsOf(host)
    const { database } = host
    const keepClean = () =>
      host.job('stored responses', CLEANUP_INTERVAL_MS, signal => deleteExpired(database, signal))
    if (name === 'threads') {
      keepClean()
      return new ThreadStage(host, limits)
    }
    if (name === 'create') {
      keepClean()
      const version = `1 ${JSON.stringify(limits)}`
      const calls = host.share('responses', version, () => new BackgroundCalls(host, limits))
      host.job('background responses', RESUME_INTERVAL_MS, () => calls.resume(host), { each: true })
      return new CreateStage(host, limits, calls)
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

interface Section {
  readonly responses?: Partial<typeof DEFAULTS>
}
const limitsOf = (host: Host): StorageLimits & { readonly socket: number } => {
  const { keep, largest, socket } = {
    ...DEFAULTS,
    ...host.section<Section>('settings').responses,
  }
  return {
    lifetime: amountIn(keep, DURATIONS),
    largest: amountIn(largest, SIZES),
    socket: amountIn(socket, DURATIONS),
  }
}
