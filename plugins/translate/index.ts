/** Plugin `translate`: passes bytes through untouched where client and target use the same wire
 *  format, and otherwise decodes them into the hub and encodes them in the other format. */
import type { Plugin } from '../../engine/plugin.ts'
import {
  type ClientFormatOption,
  clientFormatSchema,
  readClientFormat,
} from '../conversion/client-format-option.ts'
import { MEDIA_KINDS } from '../conversion/media-fetch.ts'
import { PROMPT_CACHE, readPromptCache } from '../conversion/prompt-cache-option.ts'
import { RULES } from '../formats/hub/conversation-rules.ts'
import { formats, formatsOf, knownFormats } from '../formats/index.ts'
import { operatorParts } from '../operator/contributions.ts'
import { openListeners } from './listeners/chains.ts'
import { checkFormats } from './own-formats.ts'
import { TranslationPlanner } from './planner.ts'
import { checkLive, admin as liveAdmin, test, testUpstream } from './upstreams/model-lists.ts'
import { admin, list } from './upstreams/state.ts'

const names = [...formats.keys()]
const ANSWER_HEADERS = {
  'x-tollgate-dropped': 'Members of the request that the target does not support',
  'x-tollgate-sandbox': 'true: a simulated response',
}

export default {
  schema: clientFormatSchema(
    'The wire format of the clients of this route.',
    names,
    'openai-chat',
    true,
    { prompt_cache: PROMPT_CACHE },
  ),
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  settings: {
    answer_model: {
      description:
        'The name of the model in answers: the one that the client asked for, or the one that the upstream sent.',
      enum: ['asked', 'upstream'],
      default: 'asked',
      examples: ['upstream'],
    },
  },
  upstream: {
    formats: {
      description:
        'The wire formats that this upstream supports. Without it: any format that clients send.',
      type: 'array',
      items: {
        type: 'string',
        enum: knownFormats,
        $comment: 'formats',
        description: 'A wire format.',
        examples: ['openai-chat'],
      },
      minItems: 1,
      uniqueItems: true,
      examples: [['openai-chat', 'openai-responses']],
    },
    fetch: {
      description:
        'Kinds of media that this upstream accepts only inside a request: the gateway fetches media that a client names by URL, from public addresses only, and sends it inline.',
      type: 'array',
      items: { enum: MEDIA_KINDS, description: 'A kind of media.', examples: ['video'] },
      uniqueItems: true,
      examples: [['image', 'video']],
    },
    rules: {
      description:
        'What this upstream demands of conversations. Traits of a model win; without a rule, the family of the model decides by its name.',
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: RULES,
      examples: [{ call_ids: 9, user_after_results: false }],
    },
    upload: {
      description:
        'The largest file that is uploaded to this upstream separately because it does not fit into a request. Without it such a file is refused. Only for upstreams with the format google-gemini, with one address and one key.',
      type: 'string',
      pattern: '^[1-9][0-9]{0,3}(MiB|GiB)$',
      examples: ['2GiB'],
    },
  },
  check: checkFormats,
  admin: { ...admin, ...liveAdmin },
  checkLive,
  commands: {
    upstreams: {
      summary: 'Shows the upstreams, their health and their keys, and asks them for their models.',
      standalone: true,
      subcommands: { list, test },
      default: 'list',
    },
  },
  setup(options, host) {
    operatorParts(host).testUpstream = testUpstream
    const { format: name, strict, prompt_cache: cache } = readClientFormat(options)
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
} satisfies Plugin<ClientFormatOption>
