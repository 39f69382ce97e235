/** Plugin `translate`: passes bytes through untouched where client and target use the same wire
 *  format, and otherwise decodes them into the hub and encodes them in the other format. */
import type { Plugin } from '../../engine/plugin.ts'
import {
  type ClientFormatOption,
  clientFormatSchema,
  readClientFormat,
} from '../conversion/client-format-option.ts'
import { MEDIA_KINDS } from '../conversion/media-fetch.ts'
import { formats, knownFormats } from '../formats/index.ts'
import { TranslationPlanner } from './planner.ts'
import { test } from './upstreams/model-lists.ts'
import { admin, list } from './upstreams/state.ts'

const names = [...formats.keys()]

export default {
  schema: clientFormatSchema('The wire format of the clients of this route.', names, 'openai-chat'),
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
    upload: {
      description:
        'The largest file that is uploaded to this upstream separately because it does not fit into a request. Without it such a file is refused. Only for upstreams with the format google-gemini, with one address and one key.',
      type: 'string',
      pattern: '^[1-9][0-9]{0,3}(MiB|GiB)$',
      examples: ['2GiB'],
    },
  },
  admin,
  commands: {
    upstreams: {
      summary: 'Shows the upstreams, their health and their keys, and asks them for their models.',
      subcommands: { list, test },
      default: 'list',
    },
  },
  setup(options, host) {
    const { format: name, strict } = readClientFormat(options)
    const format = formats.get(name)
    if (!format) throw new Error(`there is no format "${name}"; there are ${names.join(', ')}`)
    const planner = new TranslationPlanner(format, strict, host)
    return {
      handle(exchange, next) {
        planner.removeUnreachable(exchange)
        return next()
      },
      forward: (attempt, next) => planner.planFor(attempt).forward(attempt, next),
      explain: ({ targets }) => ({
        format: name,
        strict,
        targets: targets.map(each => planner.describe(each)),
      }),
    }
  },
} satisfies Plugin<ClientFormatOption>
