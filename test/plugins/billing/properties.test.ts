/** Properties of every price: exact, never above the hold, unchanged by freezing, without
 *  floats. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Bounds } from '../../../plugins/billing/bounds.ts'
import { priceFast } from '../../../plugins/billing/fast-price.ts'
import { METERS, SUMS } from '../../../plugins/billing/meters.ts'
import { withServed } from '../../../plugins/billing/pricing-facts.ts'
import { freeze, type Rule, thaw } from '../../../plugins/billing/rule.ts'
import { coverableTokens, worstCase } from '../../../plugins/billing/worst-case.ts'
import type { Meter, Meters } from '../../../plugins/slots.ts'
import { charge, ruleOf } from '../../helpers/money/billing.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { oracle } from './price-oracle.ts'
import {
  asOptions,
  type Call,
  calls,
  type LineOptions,
  metersOf,
  type RuleOptions,
  rules,
} from './random-rules.ts'

const RUNS = { numRuns: shortOrLong(400, 200_000) }
const FEWER = { numRuns: shortOrLong(100, 20_000) }
const priceOf = (rule: Rule, call: Call) => charge(rule, metersOf(call), call.attributes, call.at)

t.test('price: equals the sum in fractions, and its lines add up to it', async () => {
  fc.assert(
    fc.property(rules(), calls, fc.boolean(), (options, call, map) => {
      const { nanos, lines } = priceOf(ruleOf(asOptions(options, map)), call)
      const sum = lines.reduce((total, line) => total + BigInt(line.nanos), 0n)
      return nanos === oracle(options, call) && nanos === sum
    }),
    RUNS,
  )
})

/** Bounds that contain this call; `slack` makes them wider. */
const boundsOf = (call: Call, slack: number, separate: readonly Meter[]): Bounds => {
  const usage = metersOf(call)
  const sum = (meters: readonly Meter[]): number =>
    meters.reduce((total, meter) => total + Math.ceil(usage[meter] ?? 0), 0) + slack
  const own = METERS.filter(meter => separate.includes(meter) || !sumMembers.includes(meter))
  const meters: Meters = Object.fromEntries(
    own.map(meter => [meter, Math.ceil(usage[meter] ?? (meter === 'calls' ? 1 : 0)) + slack]),
  )
  return { prompt: sum(SUMS.prompt), completion: sum(SUMS.completion), meters }
}
const sumMembers: readonly Meter[] = [...SUMS.prompt, ...SUMS.completion]
const slack = fc.constantFrom(0, 1, 300)
const separate = fc.subarray([...sumMembers])

t.test('worst-case cost: covers every call within the bounds', async () => {
  fc.assert(
    fc.property(rules(), calls, slack, separate, (options, call, more, own) => {
      const rule = ruleOf(asOptions(options, false))
      const worst = worstCase(rule, boundsOf(call, more, own), call)
      const { nanos, unpriced } = priceOf(rule, call)
      // A meter that no table prices must be unpriced here, too, so that the call is refused.
      const isForeseen = unpriced.every(
        meter => !rule.pricedMeters.has(meter) || worst.unpriced.includes(meter),
      )
      return worst.unboundedMeters.length === 0 && worst.nanos >= nanos && isForeseen
    }),
    RUNS,
  )
})

/** A rule whose lines depend on tiers beside all else, a request, and what its answer may name. */
const TIER_KEYS = ['flex', 'priority', 'ultra', 'default'] as const
const tieredRules = fc
  .tuple(
    rules(),
    fc.array(
      fc.record({
        kind: fc.constantFrom('when', 'by', 'none'),
        names: fc.subarray([...TIER_KEYS], { minLength: 1 }),
        amounts: fc.array(fc.nat(20).map(String), { minLength: 4, maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 8 },
    ),
  )
  .map(
    ([options, tiers]): RuleOptions => ({
      ...options,
      lines: options.lines.map((line, index): LineOptions => {
        const tier = tiers[index % tiers.length]
        const isLast = options.lines.findLastIndex(({ meter }) => meter === line.meter) === index
        if (!tier || tier.kind === 'none') return line
        if (tier.kind === 'when')
          return isLast ? line : { ...line, when: { ...line.when, service_tier: tier.names } }
        const entries = [...tier.names, 'default'].map((key, at) => [
          key,
          tier.amounts[at % 4] ?? '1',
        ])
        return { ...line, by: ['service_tier'], price: Object.fromEntries(entries) }
      }),
    }),
  )
const tier = fc.constantFrom('auto', 'default', 'standard', 'flex', 'priority', 'fast', 'ultra')
const requests = fc.tuple(
  calls,
  fc.option(tier, { nil: undefined }),
  fc.constantFrom(undefined, 'auto', 'low'),
)
/** The tiers that an answer may report, given the request. */
const permittedTiers = (requested: string | undefined): readonly (string | undefined)[] => {
  if (requested === 'auto') return [undefined, ...TIER_KEYS, 'standard', 'odd']
  const own = requested === 'fast' ? 'priority' : requested
  return [undefined, own, 'default', 'standard']
}

t.test('worst-case cost: covers whatever of the permitted attributes the answer names', async t => {
  let distinct = 0
  fc.assert(
    fc.property(
      tieredRules,
      requests,
      slack,
      fc.nat(99),
      (options, [call, asks, quality], more, n) => {
        const rule = ruleOf(asOptions(options, false))
        const attributes = {
          ...call.attributes,
          ...(asks && { service_tier: asks }),
          ...(quality && { quality }),
        }
        const worst = worstCase(rule, boundsOf(call, more, []), { at: call.at, attributes })
        const tiers = permittedTiers(asks)
        const qualities = quality === 'auto' ? [undefined, 'low', 'high', 'odd'] : [undefined]
        const servedTier = tiers[n % tiers.length]
        const servedQuality = qualities[n % qualities.length]
        const served = {
          ...(servedTier && { service_tier: servedTier }),
          ...(servedQuality && { quality: servedQuality }),
        }
        const { attributes: facts = {} } = withServed({ at: call.at, attributes }, served)
        const { nanos } = charge(rule, metersOf(call), facts, call.at)
        if (nanos !== charge(rule, metersOf(call), attributes, call.at).nanos) distinct++
        return worst.nanos >= nanos
      },
    ),
    RUNS,
  )
  t.ok(distinct > 0, 'the answer changes the price of some calls')
})

/** One plain line a meter, some by tier. */
const plainTiers = fc
  .subarray([...METERS], { minLength: 1, maxLength: 6 })
  .chain(meters =>
    fc.tuple(...meters.map(meter => fc.tuple(fc.constant(meter), fc.nat(40), fc.boolean()))),
  )
  .map(
    (lines): RuleOptions => ({
      lines: lines.map(([meter, amount, isTiered]) =>
        isTiered
          ? { meter, by: ['service_tier'], price: { flex: '1 / 7', default: `${amount} / 1M` } }
          : { meter, price: `${amount} / 1M` },
      ),
    }),
  )
t.test('fast price: is the price of calls at the standard of every tier', async t => {
  let fastCalls = 0
  const standard = fc.constantFrom(undefined, 'default', 'standard')
  fc.assert(
    fc.property(plainTiers, calls, standard, (options, call, name) => {
      const rule = ruleOf(asOptions(options, false))
      const attributes = { ...call.attributes, ...(name && { service_tier: name }) }
      const fast = rule.fastPrice && priceFast(rule.fastPrice, metersOf(call))
      if (!fast) return true
      fastCalls++
      const { nanos, lines } = charge(rule, metersOf(call), attributes, call.at)
      return fast.nanos === nanos && fast.lines === JSON.stringify(lines)
    }),
    RUNS,
  )
  t.ok(fastCalls > 0, 'some calls take it')
})

t.test('worst-case cost: never falls when bounds grow', async () => {
  fc.assert(
    fc.property(rules(), calls, slack, separate, (options, call, more, own) => {
      const rule = ruleOf(asOptions(options, false))
      const narrow = worstCase(rule, boundsOf(call, 0, own), call).nanos
      return worstCase(rule, boundsOf(call, more, own), call).nanos >= narrow
    }),
    FEWER,
  )
})

t.test('coverable tokens: the balance covers them, and not one more', async () => {
  fc.assert(
    fc.property(rules(), calls, fc.bigInt(0n, 10n ** 13n), (options, call, available) => {
      const rule = ruleOf(asOptions(options, false))
      const bounds = boundsOf(call, 5, [])
      const most = coverableTokens(rule, bounds, call, available)
      const at = (completion: number) => worstCase(rule, { ...bounds, completion }, call).nanos
      if (at(0) > available) return most === 0
      return at(most) <= available && (most === bounds.completion || at(most + 1) > available)
    }),
    FEWER,
  )
})

t.test('frozen rule: is the same rule after it is read', async () => {
  fc.assert(
    fc.property(rules(), calls, fc.boolean(), (options, call, map) => {
      const rule = ruleOf(asOptions(options, map))
      const thawedRule = thaw(freeze(rule))
      return (
        isDeepStrictEqual(thawedRule, rule) &&
        freeze(thawedRule) === freeze(rule) &&
        priceOf(thawedRule, call).nanos === priceOf(rule, call).nanos
      )
    }),
    FEWER,
  )
})

t.test('price: never falls when usage grows, unless it depends on usage', async () => {
  fc.assert(
    fc.property(
      rules({ counted: false }),
      calls,
      fc.constantFrom(...METERS),
      fc.nat(1_000),
      (options, call, meter, more) => {
        const rule = ruleOf(asOptions(options, false))
        const usage: Meters = { calls: 1, ...metersOf(call) }
        const largerUsage = { ...usage, [meter]: Math.ceil(usage[meter] ?? 0) + more }
        const cost = (meters: Meters) => charge(rule, meters, call.attributes, call.at).nanos
        return cost(largerUsage) >= cost(usage)
      },
    ),
    FEWER,
  )
})

t.test('price: results have bigints and decimal texts, no numbers', async () => {
  const clean = (value: unknown): boolean =>
    typeof value === 'object' && value !== null
      ? Object.values(value).every(clean)
      : typeof value === 'bigint' ||
        (typeof value === 'string' && !/NaN|Infinity|undefined|[0-9]e[-+]?[0-9]/.test(value))
  fc.assert(
    fc.property(rules(), calls, (options, call) => {
      const rule = ruleOf(asOptions(options, false))
      return clean(priceOf(rule, call)) && clean(worstCase(rule, boundsOf(call, 1, []), call))
    }),
    FEWER,
  )
})
