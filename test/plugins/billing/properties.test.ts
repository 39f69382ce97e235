/** Properties of every price: exact, never above the hold, unchanged by freezing, without
 *  floats. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Bounds } from '../../../plugins/billing/bounds.ts'
import { METERS, SUMS } from '../../../plugins/billing/meters.ts'
import { freeze, type Rule, thaw } from '../../../plugins/billing/rule.ts'
import type { Facts } from '../../../plugins/billing/usage.ts'
import { coverableTokens, worstCase } from '../../../plugins/billing/worst-case.ts'
import type { Meter, Meters } from '../../../plugins/slots.ts'
import { charge, ruleOf } from '../../helpers/billing.ts'
import { oracle } from '../../helpers/billing-oracle.ts'
import { asOptions, type Call, calls, numbers, rules } from '../../helpers/billing-rules.ts'
import { scaled } from '../../helpers/long.ts'
import fc from '../../helpers/property.ts'

const RUNS = { numRuns: scaled(1_000, 200_000) }
const FEWER = { numRuns: scaled(250, 20_000) }
const priceOf = (rule: Rule, call: Call) => charge(rule, numbers(call), call.attributes, call.at)

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
  const usage = numbers(call)
  const sum = (meters: readonly Meter[]): number =>
    meters.reduce((total, meter) => total + Math.ceil(usage[meter] ?? 0), 0) + slack
  const own = METERS.filter(meter => separate.includes(meter) || !sumMembers.includes(meter))
  const meters: Meters = Object.fromEntries(
    own.map(meter => [meter, Math.ceil(usage[meter] ?? (meter === 'calls' ? 1 : 0)) + slack]),
  )
  return { prompt: sum(SUMS.prompt), completion: sum(SUMS.completion), meters }
}
const sumMembers: readonly Meter[] = [...SUMS.prompt, ...SUMS.completion]
const factsBefore = (call: Call, unknownAttributes: readonly string[]): Facts => ({
  at: call.at,
  attributes: Object.fromEntries(
    Object.entries(call.attributes).filter(([name]) => !unknownAttributes.includes(name)),
  ),
})
const unknownAttributes = fc.subarray(['quality', 'size', 'off_peak', 'duration'])
const slack = fc.constantFrom(0, 1, 300)
const separate = fc.subarray([...sumMembers])

t.test('worst-case cost: covers every call within the bounds', async () => {
  fc.assert(
    fc.property(
      rules(),
      calls,
      slack,
      separate,
      unknownAttributes,
      (options, call, more, own, unknownNames) => {
        const rule = ruleOf(asOptions(options, false))
        const worst = worstCase(rule, boundsOf(call, more, own), factsBefore(call, unknownNames))
        const { nanos, unpriced } = priceOf(rule, call)
        // A meter that no table prices must be unpriced here, too, so that the call is refused.
        const isForeseen = unpriced.every(
          meter => !rule.pricedMeters.has(meter) || worst.unpriced.includes(meter),
        )
        return worst.unboundedMeters.length === 0 && worst.nanos >= nanos && isForeseen
      },
    ),
    RUNS,
  )
})

t.test('worst-case cost: never falls when bounds grow', async () => {
  fc.assert(
    fc.property(
      rules(),
      calls,
      slack,
      separate,
      unknownAttributes,
      (options, call, more, own, unknownNames) => {
        const rule = ruleOf(asOptions(options, false))
        const facts = factsBefore(call, unknownNames)
        const narrow = worstCase(rule, boundsOf(call, 0, own), facts).nanos
        return worstCase(rule, boundsOf(call, more, own), facts).nanos >= narrow
      },
    ),
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
        const usage: Meters = { calls: 1, ...numbers(call) }
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
