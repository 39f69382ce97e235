/** Between the client's wire format and the target's: bytes pass untouched where both speak the same, and are read into the
 *  hub and written anew where they do not. */
import type { Plugin } from '../../engine/plugin.ts'
import { KINDS } from '../conversion/fetching.ts'
import { readSpoken, type Spoken, spokenSchema } from '../conversion/spoken-here.ts'
import { formats, spokenFormats } from '../formats/index.ts'
import { Ways } from './ways.ts'

const names = [...formats.keys()]

export default {
  schema: spokenSchema('The wire format that clients of this route speak.', names, 'openai-chat'),
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  upstream: {
    formats: {
      description: 'The wire formats this upstream speaks. Without it: whichever it is asked in.',
      type: 'array',
      items: {
        type: 'string',
        enum: spokenFormats,
        description: 'A wire format.',
        examples: ['openai-chat'],
      },
      minItems: 1,
      uniqueItems: true,
      examples: [['openai-chat', 'openai-responses']],
    },
    fetch: {
      description:
        'Kinds of media that this upstream takes inside a request only: what a client names by address is fetched from public addresses and carried.',
      type: 'array',
      items: { enum: KINDS, description: 'A kind of media.', examples: ['video'] },
      uniqueItems: true,
      examples: [['image', 'video']],
    },
    upload: {
      description:
        'How large a file may be that does not fit into a request and goes to this upstream beside it. Without it such a file is refused. Of upstreams that speak google-gemini, at one address and with one key.',
      type: 'string',
      pattern: '^[1-9][0-9]{0,3}(MiB|GiB)$',
      examples: ['2GiB'],
    },
  },
  setup(options, host) {
    const { format: name, strict } = readSpoken(options)
    const format = formats.get(name)
    if (!format) throw new Error(`there is no format "${name}"; there are ${names.join(', ')}`)
    const ways = new Ways(format, strict, host)
    return {
      handle(exchange, next) {
        ways.judge(exchange)
        return next()
      },
      forward: (attempt, next) => ways.of(attempt).forward(attempt, next),
      explain: ({ targets }) => ({
        format: name,
        strict,
        targets: targets.map(each => ways.said(each)),
      }),
    }
  },
} satisfies Plugin<Spoken>
