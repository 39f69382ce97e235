/** Stored responses: what was answered is kept for its account, and whoever continues it need not send it again, whatever
 *  upstream answers next. `responses:` on a route says what it does. */
import { amountIn, DURATIONS, SIZES } from '../../engine/kit.ts'
import type { Host, Plugin, Stage } from '../../engine/plugin.ts'
import { Create } from './create.ts'
import type { Limits } from './keeping.ts'
import { Runs } from './runs.ts'
import { clean } from './shelf.ts'
import { migrations } from './tables.ts'
import { VIEWS } from './views.ts'

const TIME = /^([1-9][0-9]{0,3})(h|d)$/
const SIZE = /^([1-9][0-9]{0,3})(KiB|MiB)$/
const USUAL = { keep: '30d', largest: '8MiB' }
/** ms between two cleanings. */
const CLEANING = 600_000

export default {
  schema: {
    description: 'What the route does with responses that are kept.',
    type: 'string',
    enum: ['create', ...Object.keys(VIEWS)],
    examples: ['create', 'show'],
  },
  // What a response continues is paid for; what `translate` wrote is what is kept.
  before: ['meter', 'translate'],
  after: ['auth'],
  settings: {
    responses: {
      description: 'How long responses and conversations are kept, and how large they may be.',
      type: 'object',
      additionalProperties: false,
      properties: {
        keep: {
          description: 'From the answer on; a conversation from its last one on.',
          type: 'string',
          pattern: TIME.source,
          default: USUAL.keep,
          examples: ['30d'],
        },
        largest: {
          description: 'Input and answer of one response. A larger one is answered and not kept.',
          type: 'string',
          pattern: SIZE.source,
          default: USUAL.largest,
          examples: ['8MiB'],
        },
      },
      examples: [{ keep: '30d', largest: '8MiB' }],
    },
  },
  migrations,
  setup(name, host): Stage {
    const limits = limitsOf(host)
    const { database } = host
    if (name === 'create') {
      host.job('stored responses', CLEANING, signal => clean(database, signal))
      const version = `1 ${JSON.stringify(limits)}`
      return new Create(
        host,
        limits,
        host.share('responses', version, () => new Runs(host, limits)),
      )
    }
    const view = VIEWS[name]
    if (!view) throw new Error(`there is no view "${name}"`)
    return {
      answers: true,
      handle: exchange => view(exchange, { database, limits }),
      explain: () => ({ view: name }),
    }
  },
} satisfies Plugin<string>

interface Section {
  readonly responses?: { readonly keep?: string; readonly largest?: string }
}
const limitsOf = (host: Host): Limits => {
  const { keep, largest } = { ...USUAL, ...host.section<Section>('settings').responses }
  return { kept: amountIn(keep, DURATIONS), largest: amountIn(largest, SIZES) }
}
