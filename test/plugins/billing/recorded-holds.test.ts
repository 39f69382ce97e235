/** Holds of recorded requests cover the usage of their recorded answers: the cap of twice the hold
 *  never applies. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { compileCurrency } from '../../../plugins/billing/currency.ts'
import { price } from '../../../plugins/billing/price.ts'
import { factsOf, requestBoundsOf } from '../../../plugins/billing/request-bounds.ts'
import { compileRule } from '../../../plugins/billing/rule.ts'
import { toExactUsage } from '../../../plugins/billing/usage.ts'
import { worstCase } from '../../../plugins/billing/worst-case.ts'
import { type Fields, isFields } from '../../../plugins/formats/fields.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { mergeCounts } from '../../../plugins/formats/stream/reported-usage.ts'
import { type Recording, recordedFormat, recordings } from '../../helpers/formats/recordings.ts'

const report = (...problem: unknown[]) => t.fail(String(problem))
const currency = compileCurrency(undefined, [], report)
const rule = compileRule(
  { price: { input: '1 / 1k', cached: '0.1 / 1k', cache_write: '1.25 / 1k', output: '5 / 1k' } },
  { currency, where: [], report },
)

const eventsOf = (body: string): Fields[] =>
  body
    .split(/\r?\n/)
    .filter(line => /^data: ?\{/.test(line))
    .map(line => JSON.parse(line.slice(5)))
const countsOf = ({ format, stream, response_body: body }: Recording): Fields | undefined => {
  const facts = formats.get(recordedFormat(format) ?? '')?.usage
  if (!facts) return undefined
  if (stream)
    return eventsOf(body)
      .map(event => facts.inEvent(event))
      .filter(isFields)
      .reduce<Fields | undefined>(mergeCounts, undefined)
  const answer: Fields = JSON.parse(body)
  const counts = facts.inAnswer?.(answer) ?? answer[facts.key]
  return isFields(counts) ? counts : undefined
}

const recorded = recordings()
t.test(
  'recorded calls: each costs at most its hold',
  { skip: recorded === undefined && 'RECORDINGS is unset' },
  async t => {
    if (!rule) throw new Error('no rule')
    let calls = 0
    for (const recording of recorded ?? []) {
      const { id, request, status, format } = recording
      const facts = formats.get(recordedFormat(format) ?? '')?.usage
      const counts = status === 200 && isFields(request) ? countsOf(recording) : undefined
      if (!facts || !counts) continue
      const body = request as Json
      const { bounds, hasHostedTools } = requestBoundsOf(
        body,
        Buffer.byteLength(JSON.stringify(body)),
        { rule, context: 1_000_000, output: 65_536 },
      )
      if (hasHostedTools) continue // the balance is the only limit of these
      calls++
      const cost = price(toExactUsage({ meters: facts.meters(counts) }), rule, factsOf(body, 0))
      const hold = worstCase(rule, bounds, factsOf(body, 0))
      if (cost.nanos > hold.nanos) t.fail(`${id}: ${cost.nanos} is above ${hold.nanos}`)
    }
    t.ok(calls > 100, `${calls} calls`)
  },
)
