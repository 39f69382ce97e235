/** `task:` of a route whose calls may run as tasks: the shapes of its options. */
import {
  constant,
  duration,
  integer,
  object,
  oneOf,
  type RawOf,
  required,
  size,
} from '../../../engine/config/shape.ts'

const TIME = '^([1-9][0-9]{0,4})(s|m|h|d)$'
const SIZE = '^([1-9][0-9]{0,3})(KiB|MiB)$'

const time = <const T extends string>(description: string, value: T) =>
  duration(description, { default: value, examples: [value], pattern: TIME })
export const CALL = object(
  'Calls of the route run as tasks: they are answered with 202 and the address of the result.',
  {
    call: required(
      object(
        'The call that the upstream answers itself.',
        {
          deadline: time('Time after which an unfinished call fails.', '10m'),
          attempts: integer(
            'How often a call is sent whose answer was lost, because its process or its connection ended. It is charged once.',
            { minimum: 1, maximum: 10, default: 1, examples: [3] },
          ),
          largest: size('Size limit of an answer. A call with a larger one fails.', {
            default: '16MiB',
            examples: ['16MiB'],
            pattern: SIZE,
          }),
        },
        { examples: [{ deadline: '10m' }] },
      ),
    ),
    when: oneOf(
      'asked: calls with the header "Prefer: respond-async"; always: every call of the route.',
      ['asked', 'always'],
      { default: 'asked', examples: ['always'] },
    ),
    open: integer('Unfinished tasks that an account may have; another is refused.', {
      minimum: 1,
      examples: [5],
    }),
    keep: time('How long the result can be queried.', '24h'),
  },
  { examples: [{ call: {} }] },
)
export const REPLY = object(
  'The route answers with the result of a call that ran as a task.',
  { view: required(constant('What the route does.', 'reply', { examples: ['reply'] })) },
  { examples: [{ view: 'reply' }] },
)

/** Times in ms, sizes in bytes. */
export type CallRule = ReturnType<typeof callRuleOf>
export const callRuleOf = (options: RawOf<typeof CALL>) => {
  const { call, when, ...rest } = CALL.read(options)
  /** Whether every call is a task, or only those of clients that ask for one. */
  const isAlways = when === 'always'
  return { ...call, ...rest, isAlways }
}
