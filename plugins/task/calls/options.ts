/** `task:` of a route whose calls may run as tasks: the JSON Schema, and the options as used. */
import { amountIn, DURATIONS, SIZES } from '../../../engine/kit.ts'

/** As the schema accepts it. */
export interface CallOptions {
  readonly call: {
    readonly deadline?: string
    readonly attempts?: number
    readonly largest?: string
  }
  readonly when?: 'asked' | 'always'
  readonly open?: number
  readonly keep?: string
}
export interface ReplyOptions {
  readonly view: 'reply'
}
export interface CallRule {
  /** Whether every call is a task, or only those of clients that ask for one. */
  readonly isAlways: boolean
  /** ms from the create. */
  readonly deadline: number
  /** How often a call is sent whose answer was lost. */
  readonly attempts: number
  /** Bytes of the largest answer that is stored. */
  readonly largest: number
  readonly open: number | undefined
  /** ms that a finished task is kept. */
  readonly keep: number
}

const TIME = /^([1-9][0-9]{0,4})(s|m|h|d)$/
const SIZE = /^([1-9][0-9]{0,3})(KiB|MiB)$/
const DEFAULTS = { deadline: '10m', attempts: 1, largest: '16MiB', keep: '24h' }

export const callRuleOf = ({ call, when, open, keep }: CallOptions): CallRule => ({
  isAlways: when === 'always',
  deadline: amountIn(call.deadline ?? DEFAULTS.deadline, DURATIONS),
  attempts: call.attempts ?? DEFAULTS.attempts,
  largest: amountIn(call.largest ?? DEFAULTS.largest, SIZES),
  open,
  keep: amountIn(keep ?? DEFAULTS.keep, DURATIONS),
})

const time = (description: string, value: string) => ({
  description,
  type: 'string',
  pattern: TIME.source,
  default: value,
  examples: [value],
})
export const CALL_SCHEMA = {
  description:
    'Calls of the route run as tasks: they are answered with 202 and the address of the result.',
  type: 'object',
  required: ['call'],
  additionalProperties: false,
  properties: {
    call: {
      description: 'The call that the upstream answers itself.',
      type: 'object',
      additionalProperties: false,
      properties: {
        deadline: time('Time after which an unfinished call fails.', DEFAULTS.deadline),
        attempts: {
          description:
            'How often a call is sent whose answer was lost, because its process or its connection ended. It is charged once.',
          type: 'integer',
          minimum: 1,
          maximum: 10,
          default: DEFAULTS.attempts,
          examples: [3],
        },
        largest: {
          description: 'Size limit of an answer. A call with a larger one fails.',
          type: 'string',
          pattern: SIZE.source,
          default: DEFAULTS.largest,
          examples: [DEFAULTS.largest],
        },
      },
      examples: [{ deadline: DEFAULTS.deadline }],
    },
    when: {
      description:
        'asked: calls with the header "Prefer: respond-async"; always: every call of the route.',
      enum: ['asked', 'always'],
      default: 'asked',
      examples: ['always'],
    },
    open: {
      description: 'Unfinished tasks that an account may have; another is refused.',
      type: 'integer',
      minimum: 1,
      examples: [5],
    },
    keep: time('How long the result can be queried.', DEFAULTS.keep),
  },
  examples: [{ call: {} }],
}
export const REPLY_SCHEMA = {
  description: 'The route answers with the result of a call that ran as a task.',
  type: 'object',
  required: ['view'],
  additionalProperties: false,
  properties: {
    view: { description: 'What the route does.', const: 'reply', examples: ['reply'] },
  },
  examples: [{ view: 'reply' }],
}
