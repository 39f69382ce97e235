/** The shapes of limits: of a route, and of `limits:` for all routes together. */
import { integer, map, object, type RawOf, rate } from '../../engine/config/shape.ts'

const members = {
  requests: rate('Requests per second, minute or hour, in windows that begin with the first.', {
    examples: ['60/min'],
  }),
  tokens: rate(
    'Tokens per second, minute or hour: estimated by the size of the request (four bytes each), then corrected by what was used.',
    { examples: ['100000/min'] },
  ),
  concurrency: integer('Requests, streams and WebSocket connections at once.', {
    minimum: 1,
    maximum: 1_000_000,
    examples: [5],
  }),
}
const EXAMPLE = { requests: '60/min', tokens: '100000/min', concurrency: 5 }
const limits = (description: string) => object(description, members, { examples: [EXAMPLE] })

export const ROUTE = object(
  'Limits of each API key on this route (without a key: of each account, or client address). ' +
    'Limits set on a key replace them, setting by setting, and apply across all routes.',
  {
    ...members,
    account: limits('Limits of each account on this route, with all its keys.'),
    model: limits('Limits of each model on this route, for all callers together.'),
  },
  { examples: [{ requests: '60/min', concurrency: 5 }] },
)
export const SECTION = object(
  'Limits across all routes.',
  {
    key: limits('Limits of each API key; limits set on the key replace them.'),
    account: limits('Limits of each account, with all its keys.'),
    model: limits('Limits of each model, for all callers together.'),
    models: map(
      'Limits of single models, by their name under `models:`.',
      limits('Limits of this model; they replace those of each model.'),
      { examples: [{ 'gp-4.1': EXAMPLE }] },
    ),
  },
  { examples: [{ account: EXAMPLE }] },
)
export type Limits = RawOf<ReturnType<typeof limits>>
/** Limits of one route. The direct members apply to each key. */
export type RouteLimits = RawOf<typeof ROUTE>
/** Limits across all routes. */
export type Section = RawOf<typeof SECTION>
