/** `rpm` and `tpm` of a key of an upstream, and the headers in which its provider says what is
 *  left. */
import {
  integer,
  object,
  orElse,
  type RawOf,
  readerOf,
  schemasOf,
  text,
} from '../../engine/config/shape.ts'
import type { HostBase, KeyLimiter, KeyMethod } from '../../engine/plugin.ts'
import { isRefusal, KeyQuota } from './key-quota.ts'
import { countUsedTokens, estimateTokens } from './tokens.ts'

const perMinute = <const E extends number>(description: string, example: E) =>
  integer(description, { minimum: 1, maximum: 1_000_000_000, examples: [example] })
const MEMBERS = {
  rpm: perMinute('Requests per minute that the provider allows the key: no more are sent.', 500),
  tpm: perMinute(
    'Tokens per minute that the provider allows the key. A request counts by its size, and then by its usage.',
    200_000,
  ),
}
const header = <const D extends string>(description: string, name: D) =>
  orElse(text(description, { pattern: '^[a-z0-9-]*\\{unit\\}[a-z0-9-]*$', examples: [name] }), name)
const HEADERS = object(
  'Headers in which the provider says how much a key has left, read for keys with `rpm` or `tpm`. {unit} stands for requests or tokens.',
  {
    remaining: header('What is left.', 'x-ratelimit-remaining-{unit}'),
    reset: header(
      'When all is back: a time, seconds, or a duration such as 6m0s.',
      'x-ratelimit-reset-{unit}',
    ),
  },
  { examples: [{ remaining: 'x-ratelimit-remaining-{unit}' }] },
)
/** Keys of an upstream. */
export const UPSTREAM_KEYS = schemasOf({ limit_headers: HEADERS })

const MINUTE = 60_000
const UNITS = [
  ['tokens', 'tpm'],
  ['requests', 'rpm'],
] as const
const read = readerOf(MEMBERS)

export const keys: KeyMethod = {
  members: schemasOf(MEMBERS),
  setup(members, { allowance, key, upstreams, upstream }): KeyLimiter {
    const own = read(members as Parameters<typeof read>[0])
    const limits = UNITS.flatMap(([unit, member]) => {
      const amount = own[member]
      return amount === undefined
        ? []
        : [{ unit, amount, allowance: open(allowance, unit, amount) }]
    })
    const options = upstreams[upstream]?.options.limit_headers ?? {}
    return limiterOf(new KeyQuota(key, limits, HEADERS.read(options as RawOf<typeof HEADERS>)))
  },
}
const open = (allowance: HostBase['allowance'], unit: string, amount: number) =>
  allowance(`limit/upstream key/${unit}`, {
    window: { amount: BigInt(amount), ms: MINUTE, returns: unit === 'tokens' },
  })

const limiterOf = (quota: KeyQuota): KeyLimiter => ({
  admit(attempt) {
    const { exchange, target, number } = attempt
    const settle = (result: Awaited<ReturnType<KeyQuota['take']>>, tokens: bigint) => {
      if (isRefusal(result)) return result
      exchange.onEnd(outcome => {
        const used = outcome.attempts === number ? countUsedTokens(exchange, outcome, tokens) : 0n
        quota.settle(result, Number(used))
      })
      return undefined
    }
    const take = (tokens: bigint) => {
      const result = quota.take(target.name ?? '', Number(tokens), performance.now())
      return result instanceof Promise
        ? result.then(late => settle(late, tokens))
        : settle(result, tokens)
    }
    const tokens = estimateTokens(exchange)
    return tokens instanceof Promise ? tokens.then(take) : take(tokens)
  },
  onHead: (target, headers) => quota.read(target.name ?? '', headers, performance.now()),
})
