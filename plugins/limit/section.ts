/** How limits are written: on a route, and under `limits:` for all routes together. */

export type Limits = {
  readonly requests?: string
  readonly tokens?: string
  readonly concurrency?: number
}
/** Of one route. Its own members hold for each key. */
export interface RouteLimits extends Limits {
  readonly account?: Limits
  readonly model?: Limits
}
/** Of all routes together. */
export interface Section {
  readonly key?: Limits
  readonly account?: Limits
  readonly model?: Limits
  readonly models?: Readonly<Record<string, Limits>>
}

const PERIODS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 }
const RATE = /^([1-9][0-9]{0,8})\/(s|min|h)$/

export interface Rate {
  readonly amount: bigint
  readonly per: string
  readonly ms: number
}
export const rateOf = (text: string): Rate => {
  const [, amount = '1', per = 'min'] = RATE.exec(text) ?? []
  return { amount: BigInt(amount), per, ms: PERIODS[per] ?? 60_000 }
}

const members = {
  requests: {
    description: 'Requests per second, minute or hour, in windows that begin with the first.',
    type: 'string',
    pattern: RATE.source,
    examples: ['60/min'],
  },
  tokens: {
    description:
      'Tokens per second, minute or hour: estimated by the size of the request (four bytes each), then corrected by what was used.',
    type: 'string',
    pattern: RATE.source,
    examples: ['100000/min'],
  },
  concurrency: {
    description: 'Requests, streams and WebSocket connections at once.',
    type: 'integer',
    minimum: 1,
    maximum: 1_000_000,
    examples: [5],
  },
}
const EXAMPLE = { requests: '60/min', tokens: '100000/min', concurrency: 5 }
const limits = (description: string) => ({
  description,
  type: 'object',
  additionalProperties: false,
  properties: members,
  examples: [EXAMPLE],
})

export const ROUTE = {
  description:
    'What each API key may do on this route (without a key: each account, or client address). ' +
    'Limits of a key itself stand in their place and count over all routes.',
  type: 'object',
  additionalProperties: false,
  properties: {
    ...members,
    account: limits('What each account may do on this route, with all its keys.'),
    model: limits('What each model may be asked on this route, by everyone together.'),
  },
  examples: [{ requests: '60/min', concurrency: 5 }],
}
export const SECTION = {
  description: 'Limits that count over all routes.',
  type: 'object',
  additionalProperties: false,
  properties: {
    key: limits('What each API key may do; limits of the key itself stand in their place.'),
    account: limits('What each account may do, with all its keys.'),
    model: limits('What each model may be asked, by everyone together.'),
    models: {
      description: 'The same for models by name, as they stand under `models:`.',
      type: 'object',
      additionalProperties: limits('In place of what holds for each model.'),
      examples: [{ 'gp-4.1': EXAMPLE }],
    },
  },
  examples: [{ account: EXAMPLE }],
}
