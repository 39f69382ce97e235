/** The shape of `mirror:` of a model: a second target that gets copies of requests. */
import {
  anyOf,
  duration,
  list,
  object,
  ofTypes,
  oneOf,
  parsed,
  type RawOf,
  required,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import { PRICE } from '../billing/schema.ts'

const ALL = 'all'
const WINDOWS = ['hour', 'day', 'week', 'month'] as const

export const MIRROR = object(
  'A share of the requests is sent a second time, to another target. The customer neither sees its answer nor pays for it; metrics and the log compare both.',
  {
    to: required(
      text('The target of the copies: an upstream and its name of the model.', {
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*/[^\\s*{}]+$',
        examples: ['own/qwen3'],
      }),
    ),
    share: parsed(
      'The part of requests that is sent twice.',
      '^([0-9]{1,2}(\\.[0-9]{1,4})?|100)%$',
      each => Number.parseFloat(each) / 100,
      { default: '1%', examples: ['2%'] },
    ),
    accounts: required(
      anyOf(
        'The accounts whose requests are copied: the names of accounts that agreed, or `all` if every contract permits it.',
        [
          oneOf('Every account.', [ALL], { examples: [ALL] }),
          list('Names of accounts.', text('A name.', { minLength: 1, examples: ['acme'] }), {
            minItems: 1,
            uniqueItems: true,
            examples: [['acme']],
          }),
        ],
        { examples: [ALL, ['acme']] },
      ),
    ),
    timeout: duration('How long a copy waits for its whole answer.', {
      pattern: '^([1-9][0-9]{0,2}s|([1-9]|10)m)$',
      default: '60s',
      examples: ['30s'],
    }),
    budget: object(
      'What the copies may cost you, by `price`, in windows of the calendar of UTC. None is sent beyond that.',
      {
        amount: required(
          ofTypes('Above zero, by default in the currency of accounts.', ['string', 'number'], {
            minimum: 0,
            examples: ['20 EUR'],
          }),
        ),
        per: required(oneOf('The window.', WINDOWS, { examples: ['day'] })),
      },
      { examples: [{ amount: '20 EUR', per: 'day' }] },
    ),
    price: PRICE,
  },
  { examples: [{ to: 'own/qwen3', share: '2%', accounts: ALL }] },
)
export type MirrorOptions = RawOf<typeof MIRROR>
export type MirrorRule = ValueOf<typeof MIRROR>

export const copiesAccount = ({ accounts }: MirrorRule, name: string | undefined): boolean =>
  accounts === ALL || (name !== undefined && accounts.includes(name))
