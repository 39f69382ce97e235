/** Plugin `batches`: runs files of requests. `batches:` on a route selects the operation. */
import { oneOf } from '../../engine/config/shape.ts'
import type { Plugin, Stage } from '../../engine/plugin.ts'
import { withKnownParameters } from '../schema/known-parameters.ts'
import { ABOUT } from './about.ts'
import { moveBatches } from './batch-moves.ts'
import { LineRunner } from './line-runner.ts'
import { MESSAGE_VIEWS } from './messages.ts'
import { commands, offerToOperators } from './operator-part.ts'
import { BATCH_SETTINGS, batchSettingsOf, checkPrice } from './settings.ts'
import { deleteOldBatches } from './statements.ts'
import { migrations } from './tables.ts'
import { batchEvents, endpointsIn, VIEWS as FILE_VIEWS } from './views.ts'

const VIEWS = { ...FILE_VIEWS, ...MESSAGE_VIEWS }

/** ms between two looks at the batches, and at their lines. */
const BATCH_INTERVAL = 500
const LINE_INTERVAL = 500
const CLEANUP_INTERVAL = 3_600_000
/** ms that an ended batch is shown, and how many one transaction deletes. */
const KEEP = 30 * 86_400_000
const PAGE = 500

export default {
  schema: oneOf('The operation of the route on batches.', [...Object.keys(VIEWS), 'events'], {
    type: 'string',
    examples: ['create'],
  }).schema,
  settings: { batch: BATCH_SETTINGS },
  // `auth` sets the account. A batch costs nothing; its requests are charged.
  after: ['auth'],
  before: ['meter'],
  needs: ['files', 'meter'],
  migrations,
  commands,
  check: checkPrice,
  setup(name, host): Stage {
    if (name === 'events')
      return {
        answers: true,
        describe: () => ABOUT.events ?? {},
        handle: withKnownParameters(ABOUT.events ?? {}, batchEvents(host)),
        explain: () => ({ batches: name }),
      }
    const view = VIEWS[name]
    if (!view) throw new Error(`there is no view "${name}"`)
    if (name === 'create' || name === 'create-messages') {
      offerToOperators(host)
      const runner = host.share('batches', '1', () => new LineRunner())
      const settings = batchSettingsOf(host)
      const lines = host.job(
        'batch lines',
        LINE_INTERVAL,
        () => runner.run(host, settings, () => lines.wake()),
        { each: true },
      )
      host.job('batches', BATCH_INTERVAL, signal => moveBatches(host, signal))
      host.job('old batches', CLEANUP_INTERVAL, async () => {
        await host.database.write([deleteOldBatches(Date.now() - KEEP, PAGE)])
      })
    }
    return {
      answers: true,
      describe: () => ({
        ...ABOUT[name],
        ...(name === 'create' && { members: { endpoint: { enum: [...endpointsIn(host)] } } }),
      }),
      handle: exchange => view(exchange, host),
      explain: () => ({ batches: name }),
    }
  },
} satisfies Plugin<string>
