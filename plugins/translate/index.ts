/** Plugin `translate`: passes bytes through untouched if client and target use the same wire
 *  format, and otherwise decodes them into the hub and encodes them in the other format. */
import type { RawOf } from '../../engine/config/shape.ts'
import type { Plugin } from '../../engine/plugin.ts'
import { clientFormat } from '../conversion/client-format-option.ts'
import { PROMPT_CACHE, readPromptCache } from '../conversion/prompt-cache-option.ts'
import { formats, formatsOf } from '../formats/index.ts'
import { operatorParts } from '../operator/contributions.ts'
import { openListeners } from './listeners/chains.ts'
import { checkFormats } from './own-formats.ts'
import { TranslationPlanner } from './planner.ts'
import {
  checkLive,
  diagnoseUpstreams,
  admin as liveAdmin,
  offeredModels,
  test,
  testUpstream,
} from './upstreams/model-lists.ts'
import { settingSchemas, upstreamSchemas } from './upstreams/options.ts'
import { admin, list } from './upstreams/state.ts'

const ANSWER_HEADERS = {
  'x-tollgate-dropped': 'Members of the request that the target does not support',
  'x-tollgate-sandbox': 'true: a simulated response',
}

const FORMAT = clientFormat(
  'The wire format of the clients of this route.',
  { names: [...formats.keys()], example: 'openai-chat', notes: { $comment: 'formats' } },
  { prompt_cache: PROMPT_CACHE },
)

export default {
  schema: FORMAT.schema,
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  settings: settingSchemas,
  upstream: upstreamSchemas,
  check: checkFormats,
  admin: { ...admin, ...liveAdmin },
  checkLive,
  doctor: diagnoseUpstreams,
  commands: {
    upstreams: {
      summary: 'Shows the upstreams, their health and their keys, and asks them for their models.',
      standalone: true,
      subcommands: { list, test },
      default: 'list',
    },
  },
  setup(options, host) {
    Object.assign(operatorParts(host), { testUpstream, offeredModels })
    const { format: name, strict, prompt_cache: cache } = FORMAT.read(options)
    const { clients } = formatsOf(host)
    const format = clients.get(name)
    if (!format)
      throw new Error(`there is no format "${name}"; there are ${[...clients.keys()].join(', ')}`)
    const planner = new TranslationPlanner(
      format,
      { strict, autoCache: readPromptCache(cache) },
      host,
    )
    const { about } = format
    return {
      describe: () => ({
        summary: about.summary,
        responses: about.responses(host.route.pattern),
        headers: ANSWER_HEADERS,
      }),
      handle(exchange, next) {
        planner.removeUnreachable(exchange)
        if (format.codec) openListeners(exchange)
        return next()
      },
      forward: (attempt, next) => planner.forward(attempt, next),
      explain: ({ targets }) => ({
        format: name,
        strict,
        targets: targets.map(each => planner.describe(each)),
      }),
    }
  },
} satisfies Plugin<RawOf<typeof FORMAT>>
