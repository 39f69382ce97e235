/** The schemas and types of limits: of a route, and of `limits:` for all routes together. */

export type Limits = {
  readonly requests?: string
  readonly tokens?: string
  readonly concurrency?: number
}
/** Limits of one route. The direct members apply to each key. */
export interface RouteLimits extends Limits {
  readonly account?: Limits
  readonly model?: Limits
}
/** Limits across all routes. */
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
    'Limits of each API key on this route (without a key: of each account, or client address). ' +
    'Limits set on a key replace them, setting by setting, and apply across all routes.',
  type: 'object',
  additionalProperties: false,
  properties: {
    ...members,
    account: limits('Limits of each account on this route, with all its keys.'),
    model: limits('Limits of each model on this route, for all callers together.'),
  },
  examples: [{ requests: '60/min', concurrency: 5 }],
}
export const SECTION = {
  description: 'Limits across all routes.',
  type: 'object',
  additionalProperties: false,
  properties: {
    key: limits('Limits of each API key; limits set on the key replace them.'),
    account: limits('Limits of each account, with all its keys.'),
    model: limits('Limits of each model, for all callers together.'),
    models: {
      description: 'Limits of single models, by their name under `models:`.',
      type: 'object',
      additionalProperties: limits('Limits of this model; they replace those of each model.'),
      examples: [{ 'gp-4.1': EXAMPLE }],
    },
  },
  examples: [{ account: EXAMPLE }],
}
