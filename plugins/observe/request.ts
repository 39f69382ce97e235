/** `tollgate request`: who made a request, what happened to it, and what it cost. */
import { printable } from '../../engine/cli/kit.ts'
import type { Json, RequestRecord, SingleCommand } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { printFormula } from '../billing/formula.ts'
import type { Line } from '../billing/sum.ts'
import { type RequestDetails, requestDetails } from '../operator/requests.ts'
import type { ChargeView, FailedCallView, Try } from '../views.ts'

export const requestCommand: SingleCommand = {
  arguments: 'ID',
  standalone: true,
  summary: 'Shows one request: who, what, where, attempts, times, and its price line by line.',
  example: 'tollgate request req_0123',
  async run({ positionals: [id = ''] }, host) {
    const details = await requestDetails(host, id)
    return {
      text: textOf(details, host.requests.folder, configuredCurrency(host).name),
      json: {
        request: details.record ?? null,
        failed: details.failed ?? null,
        charges: details.charges,
        unknown: unknownOf(details),
      },
    }
  },
}

/** A fact that neither source has. */
const unknownOf = ({ record, charges, failed }: RequestDetails): readonly string[] => [
  ...(record || failed ? [] : ['status', 'times', 'attempts', 'upstream']),
  ...(charges.length > 0 ? [] : ['charge']),
]

const textOf = (details: RequestDetails, folder: string, currency: string): string => {
  const { record, charges, failed } = details
  const sections = [
    ...(record ? recordLines(details, record) : []),
    ...(record
      ? []
      : [
          failed
            ? `${folder} has no line of it: another machine may have served it.`
            : `status, times and attempts are unknown: ${folder} has no line of it.`,
          ...(failed
            ? failedCallLines(failed)
            : [
                'Another machine may have served it, or the line was removed (settings.request_log).',
              ]),
        ]),
    ...charges.flatMap(charge => chargeLines(charge, currency)),
    ...(charges.length === 0 ? [`charge    none in the ledger${reasonOf(details)}`] : []),
  ]
  return `${sections.join('\n')}\n`
}
const reasonOf = ({ record, failed }: RequestDetails): string =>
  failed || (record && record.status >= 400)
    ? ': the request failed'
    : ': its route or model is free'

const show = (value: Json | undefined): string =>
  value === undefined || value === null
    ? '-'
    : printable(typeof value === 'string' ? value : JSON.stringify(value))
const field = (name: string, text: string): string => `${name.padEnd(10)}${text}`

/** Of a call that this machine has no line of. */
const failedCallLines = (failed: FailedCallView): readonly string[] => {
  const { request, at, account, account_name: name, key, route, model, ms } = failed
  return [
    field('request', show(request)),
    field('ended', `${at} after ${ms} ms`),
    field(
      'who',
      account === null ? 'unknown: no valid credential' : `${name} (${account}), key ${key ?? '-'}`,
    ),
    field('what', `route ${show(route)}, model ${show(model)}`),
    field('result', `${failed.status} ${show(failed.code)}`),
    ...whyLines(failed),
    ...tryLines(failed.attempts),
  ]
}
/** The error that the client got. */
const whyLines = ({ message }: FailedCallView): readonly string[] =>
  message === '' ? [] : [field('why', show(message))]

const recordLines = (
  { charges, failed }: RequestDetails,
  record: RequestRecord,
): readonly string[] => {
  const { id, request_id: clientId, time, method, path, route, status, end, code } = record
  const first =
    record.first_byte === undefined ? '' : `, first byte after ${show(record.first_byte)} ms`
  return [
    field(
      'request',
      `${show(id)}${clientId === undefined ? '' : `, of the client: ${show(clientId)}`}`,
    ),
    field('ended', `${new Date(time).toISOString()} (${show(end)})`),
    field('who', who(record, charges)),
    field(
      'what',
      `${show(method)} ${show(path)}, route ${show(route)}, model ${show(record.model)}`,
    ),
    field(
      'result',
      `${show(status)}${code === undefined ? '' : ` ${show(code)}`}, ${show(record.bytes)} bytes`,
    ),
    field('times', `${show(record.ms)} ms${first}; ${show(record.added)} ms added by the gateway`),
    ...(failed ? whyLines(failed) : []),
    ...(!failed && record.message !== undefined ? [field('why', show(record.message))] : []),
    ...skipLines(record.skipped),
    ...(failed && failed.attempts.length > 0 ? tryLines(failed.attempts) : attemptLines(record)),
    ...(record.input_tokens === undefined ? [] : [field('tokens', tokens(record))]),
    ...(record.dropped === undefined ? [] : [field('dropped', show(record.dropped))]),
    ...(record.details === undefined ? [] : [field('details', show(record.details))]),
    field('config', `version #${show(record.version)}`),
    field('trace', `${show(record.trace)}, ${show(record.process)} (pid ${show(record.pid)})`),
  ]
}
const who = (record: RequestRecord, [charge]: readonly ChargeView[]): string => {
  if (record.account === undefined) {
    if (record.status === 401) return 'unknown: no valid credential'
    if (charge) return `${show(charge.account_name)} (${charge.account}), key ${charge.key ?? '-'}`
    return 'unknown: the route takes no credential, or `pipeline:` has no `observe`'
  }
  const credential =
    record.key === undefined ? `token ${show(record.token)}` : `key ${show(record.key)}`
  return `${show(record.account_name)} (${show(record.account)}), ${credential}`
}
const tokens = (record: RequestRecord): string => {
  const cached =
    record.cached_tokens === undefined
      ? ''
      : ` (${show(record.cached_tokens)} cached, share ${show(record.cached_share)})`
  const estimate = record.estimated === true ? ', estimated' : ''
  return `${show(record.input_tokens)} in${cached}, ${show(record.output_tokens)} out${estimate}`
}
/** Each attempt, if the line has them: it has where there were several or one failed. */
const attemptLines = (record: RequestRecord): readonly string[] => {
  const { tries, attempts, upstream, target, sent_ms: start, upstream_id: id } = record
  if (!Array.isArray(tries))
    return [
      field(
        'upstream',
        attempts === 0 ? 'none was asked' : placeOf(upstream, target) + remarksOf({ start, id }),
      ),
    ]
  return tryLines(tries as readonly Try[])
}
const tryLines = (tries: readonly Try[]): readonly string[] =>
  tries.flatMap((each, index) => [
    field(
      `attempt ${index + 1}`,
      ` ${placeOf(each.upstream, each.target)}: ${show(each.result)}${each.status === undefined ? '' : ` ${show(each.status)}`}${each.cause === undefined ? '' : ` (${show(each.cause)})`} after ${show(each.ms)} ms${remarksOf(each)}`,
    ),
    ...(each.message ? [field('', ` says: ${show(each.message)}`)] : []),
  ])
/** The reasons why targets were skipped. */
const skipLines = (skipped: Json | undefined): readonly string[] =>
  Array.isArray(skipped)
    ? (skipped as readonly Fields[]).map(({ upstream, target, why }) =>
        field('skipped', `${placeOf(upstream, target)}: ${REASONS[String(why)] ?? show(why)}`),
      )
    : []
const REASONS: Readonly<Record<string, string>> = {
  ejected: 'its address is ejected after failures',
  paused: 'its address asked for a pause',
  cold: 'it was warmed up by a request of the gateway',
  probing: 'another call is testing whether its address works again',
  resting: 'all its keys are paused after a refusal',
  limited: 'all its keys are over their limit',
  format: 'it does not support the format of this request',
}
type Fields = Readonly<{ [name: string]: Json | undefined }>
const remarksOf = ({ start, id, key, retry_after: retryAfter }: Fields) =>
  [
    ...(key === undefined ? [] : [`, key ${show(key)}`]),
    ...(start === undefined ? [] : [`, sent at ${show(start)} ms`]),
    ...(retryAfter === undefined ? [] : [`, retry-after ${show(retryAfter)}`]),
    ...(id === undefined ? [] : [`, its id ${show(id)}`]),
  ].join('')
const placeOf = (upstream: Json | undefined, target: Json | undefined): string =>
  `${show(upstream)}${target === undefined || target === null ? '' : `/${show(target)}`}`

const chargeLines = (charge: ChargeView, currency: string): readonly string[] => {
  const money = (amount: string): string => `${amount} ${currency}`
  const {
    request,
    account,
    account_name: name,
    key,
    member,
    state,
    cost,
    hold,
    refunded,
    uncollected,
    planned,
    planned_tokens: tokens,
  } = charge
  const remarks = [
    ...(planned === '0'
      ? []
      : [`paid by the plan ${money(planned)}${tokens === null ? '' : ` (${tokens} tokens)`}`]),
    ...(refunded === '0' ? [] : [`refunded ${money(refunded)}`]),
    ...(uncollected === '0' ? [] : [`uncollected ${money(uncollected)}`]),
    ...(charge.estimated ? ['estimated'] : []),
    ...(charge.task === null ? [] : [`task ${show(charge.task)}`]),
  ]
  const caller = `key ${key ?? '-'}${member === null ? '' : `, member ${member}`}`
  return [
    field(
      'charge',
      `${money(cost)}, ${state}, hold ${money(hold)}${remarks.map(each => `, ${each}`).join('')}`,
    ),
    field('', `of ${show(name)} (${account}), ${caller}, ${show(request)}`),
    field(
      '',
      `route ${show(charge.route)}, model ${show(charge.model)}, version #${charge.version}`,
    ),
    field('', `opened ${charge.opened}, closed ${charge.closed ?? 'not yet'}`),
    ...servedLines(charge),
    ...charge.lines.map(line => field('', money(printFormula([line as Line])))),
    ...(charge.formula === null ? [] : [field('formula', money(show(charge.formula)))]),
  ]
}

/** The charge's record of who served the call. */
const servedLines = (charge: ChargeView): readonly string[] => {
  const { upstream, target, upstream_key: key, served_model: model, response_id: id } = charge
  if (upstream === null) return []
  const { tier, speed, geography, zone, tags, rule, guard, cache } = charge
  const { first_content_ms: first, ms } = charge
  const place = { key, model, tier, speed, geography, zone }
  const facts = Object.entries({ ...place, tags, rule, guard, id, cache })
  const known = facts.filter(([, value]) => value !== null)
  return [
    field(
      'served by',
      `${placeOf(upstream, target)}${known.map(([name, value]) => `, ${name} ${show(value)}`).join('')}`,
    ),
    ...(ms === null
      ? []
      : [field('', `first content after ${show(first)} ms, all after ${ms} ms`)]),
  ]
}
