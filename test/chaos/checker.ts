/** Compares the records of clients, upstream, webhook receiver and ledger after a chaos run. Pure,
 *  and trusts none of them. */

export interface ClientCall {
  /** The client's id of the call, which the upstream reads in the body. */
  readonly client: string
  /** The gateway that it called, by number; 0 if there is one. */
  readonly gateway?: number
  readonly stream: boolean
  readonly outcome: 'complete' | 'cut' | 'refused' | 'unreached'
  /** 0 if no response arrived. */
  readonly status: number
  /** The number of words that arrived. */
  readonly received: number
  /** The arrival time of each word, in milliseconds since 1970. */
  readonly arrivals: readonly number[]
  /** Milliseconds since 1970. */
  readonly endedAt: number
  /** Whether the client disconnected by itself. */
  readonly hasLeft: boolean
}
export interface UpstreamCall {
  /** The gateway's request id, as in the ledger. */
  readonly request: string
  readonly client: string
  /** The number of words written, at most. */
  readonly wordsWritten: number
  readonly isFinished: boolean
}
export interface LedgerRow {
  readonly request: string
  readonly account: number
  readonly state: string
  readonly amount: bigint
  readonly hold: bigint
  readonly uncollected: bigint
  readonly isEstimated: boolean
  /** The refunded part. */
  readonly refunded: bigint
  /** Debited later, since another gateway had ended the call. */
  readonly late?: bigint
  /** The plan held this beyond the charge when another gateway ended the call: it stays free. */
  readonly heldByPlan?: bigint
}
/** Nanos that were paid for a call. */
const paidFor = ({ state, amount, uncollected, late = 0n }: LedgerRow): bigint =>
  (state === 'settled' ? amount + uncollected : 0n) + late
export interface Kill {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly kind: string
  /** The gateway whose process was killed; undefined: the store, which all share. */
  readonly gateway?: number | undefined
}
export interface Logs {
  readonly clients: readonly ClientCall[]
  readonly upstream: readonly UpstreamCall[]
  readonly ledger: readonly LedgerRow[]
  readonly kills: readonly Kill[]
  readonly takeovers?: readonly Takeover[]
  /** Requests of another upstream, whose calls another checker judges. */
  readonly judgedElsewhere?: ReadonlySet<string>
  /** Milliseconds within which the store must know the progress of a stream. */
  readonly lag: number
  /** Nanos per word. */
  readonly price: bigint
  readonly balances: readonly Balance[]
  readonly events: readonly SinkEvent[]
  /** The reported spending of the first account, and the metric of all accounts. */
  readonly reports: Reports
}
/** The credit of an account and its balance. */
export interface Balance {
  readonly account: number
  readonly credited: bigint
  readonly balance: bigint
  readonly reserved: bigint
  /** Refunds of undelivered calls: before them the balance was lower. */
  readonly refunded?: bigint
  /** A balance below it causes an event. */
  readonly threshold?: bigint
}
export interface SinkEvent {
  readonly account: number
  readonly id: string
  readonly body: string
  readonly hasValidSignature: boolean
}
/** In nanos: usage call by call, usage sums, and the metric. */
export interface Reports {
  readonly calls: bigint
  readonly models: bigint
  readonly metric: bigint
}
export interface Violation {
  readonly invariant: string
  readonly subject: string
  readonly detail: string
}

export const check = (logs: Logs): readonly Violation[] => {
  const calls = Map.groupBy(logs.upstream, ({ client }) => client)
  const rows = Map.groupBy(logs.ledger, ({ request }) => request)
  const calledIds = new Set(logs.upstream.map(({ request }) => request))
  for (const request of logs.judgedElsewhere ?? []) calledIds.add(request)
  const knownUntilOf = createKnownUntil(logs)
  return [
    ...logs.clients.flatMap(client => {
      const ownCalls = calls.get(client.client) ?? []
      const names = [...new Set(ownCalls.map(({ request }) => request))]
      const ownRows = names.flatMap(name => rows.get(name) ?? [])
      const kills = logs.kills.filter(kill => concerns(kill, client))
      const near = kills.filter(({ at }) => Math.abs(client.endedAt - at) < NEAR)
      const killsNearby = near
        .map(({ at, kind }) => `${kind} ${client.endedAt - at} ms before`)
        .join(', ')
      const knownUntil = knownUntilOf(client)
      const knownWords = knownWordsOf(client, { kills, lag: logs.lag, knownUntil })
      return ofClient({
        client,
        calls: ownCalls,
        rows: ownRows,
        price: logs.price,
        killsNearby,
        knownWords,
      })
    }),
    ...[...rows.values()].flatMap(all => ofRows(all, calledIds)),
    ...logs.balances.flatMap(balance => ofBalance(balance, logs)),
    ...ofReports(logs),
  ]
}

/** When another gateway ended a crashed process of `gateway`: it charges by the last counts in the
 *  store, because later ones are in the data folder of the crashed one only. */
export interface Takeover {
  readonly gateway: number
  /** Milliseconds since 1970. */
  readonly at: number
}
/** Milliseconds without a heartbeat after which a process may count as dead. Its last counts may
 *  have been refused by then, for as long as it was away from the store. */
const SILENCE = 3_500
/** Milliseconds: a stream writes its count to the store each quarter of a second; a busy machine
 *  is later. */
const TAKEOVER_LAG = 1_500
/** Milliseconds: calls of a process that was killed this long before the last reply of its gateway
 *  may not have been ended by the gateway itself. */
const REAPED_WITHIN = 2_000
/** Returns until when the store must know the words of a call that another gateway may have ended,
 *  in milliseconds since 1970: it ended one of the same gateway, which had delivered nothing since
 *  the call, or whose process went on. Undefined: none has ended it. */
const createKnownUntil = ({ clients, takeovers = [] }: Pick<Logs, 'clients' | 'takeovers'>) => {
  const byGateway = Map.groupBy(clients, ({ gateway = 0 }) => gateway)
  const spans = takeovers.map(({ gateway, at }) => {
    const replies = (byGateway.get(gateway) ?? []).flatMap(({ arrivals, outcome, endedAt }) =>
      outcome === 'complete' ? [...arrivals, endedAt] : arrivals,
    )
    const last = replies.reduce((most, time) => (time < at ? Math.max(most, time) : most), 0)
    return { gateway, from: last - REAPED_WITHIN, at }
  })
  return ({ gateway = 0, endedAt, arrivals: [first = endedAt] }: ClientCall) => {
    const span = spans.find(
      ({ gateway: other, from, at }) =>
        other === gateway && (endedAt <= at ? endedAt >= from : first <= at),
    )
    return span && Math.min(endedAt, span.at - SILENCE) - TAKEOVER_LAG
  }
}
/** The number of cut calls that are charged for fewer words than arrived because their gateway was
 *  away for so long that another one ended them. */
export const takenOver = (logs: Logs): number => {
  const { clients, upstream, ledger, price } = logs
  const knownUntilOf = createKnownUntil(logs)
  const names = new Map(upstream.map(({ client, request }) => [client, request]))
  const amounts = new Map(ledger.map(row => [row.request, paidFor(row)]))
  return clients.filter(call => {
    const amount = amounts.get(names.get(call.client) ?? '') ?? 0n
    return (
      call.outcome === 'cut' &&
      amount < BigInt(call.received) * price &&
      knownUntilOf(call) !== undefined
    )
  }).length
}

/** A kill of one gateway excuses nothing that another one did. */
const concerns = ({ gateway }: Kill, client: ClientCall): boolean =>
  gateway === undefined || gateway === (client.gateway ?? 0)

/** Milliseconds: a call that ended this close to a kill may have been ended by it. */
const NEAR = 2_000
/** Milliseconds during which a process may not have reported progress to an unavailable store; if
 *  it is killed then, the progress is lost. */
const MAX_UNREPORTED = 12_000
/** Kills of gateway processes; all other kinds harm the store. */
const PROCESSES: ReadonlySet<string> = new Set(['worker', 'all', 'primary'])

/** The number of words that the store must know: those that arrived well before the end. If the
 *  process was killed after a fault of the store, those before that fault. */
const knownWordsOf = (
  { arrivals: came, endedAt }: ClientCall,
  {
    kills,
    lag,
    knownUntil,
  }: Pick<Logs, 'kills' | 'lag'> & { readonly knownUntil: number | undefined },
): number => {
  const isKilled = kills.some(
    ({ at, kind }) => PROCESSES.has(kind) && at > endedAt - NEAR && at < endedAt + MAX_UNREPORTED,
  )
  const outages = kills.filter(
    ({ at, kind }) => !PROCESSES.has(kind) && at > endedAt - MAX_UNREPORTED && at <= endedAt,
  )
  const harmedAt = isKilled ? outages.map(({ at }) => at) : []
  const until = Math.min(endedAt, ...harmedAt, knownUntil ?? endedAt)
  return came.filter(at => until - at > lag).length
}

/** One call with all its records. */
interface CallRecords {
  readonly client: ClientCall
  readonly calls: readonly UpstreamCall[]
  readonly rows: readonly LedgerRow[]
  readonly price: bigint
  /** The kills close to its end. */
  readonly killsNearby: string
  /** The number of words that must be charged in any case. */
  readonly knownWords: number
}
const ofClient = (records: CallRecords): readonly Violation[] => {
  const { client, calls, rows } = records
  const subject = `${client.client} (${calls.map(({ request }) => request).join(', ') || 'never called'})`
  const violation = (invariant: string, detail: string) => [{ invariant, subject, detail }]
  // The upstream never fails, so no attempt is repeated.
  if (calls.length > 1) return violation('I7', `the upstream was called ${calls.length} times`)
  if (rows.length > 1) return violation('I3', `${rows.length} rows`)
  const wrong = OF[client.outcome](records)
  return wrong === undefined ? [] : violation(...wrong)
}
type Breach = readonly [invariant: string, detail: string] | undefined

const ofComplete = ({ calls: [call], rows: [row], price }: CallRecords): Breach => {
  if (!call?.isFinished)
    return ['I1', 'the client has a complete reply that the upstream did not finish']
  if (!row || (row.state !== 'settled' && !row.late && !row.heldByPlan))
    return ['I1', `lost: the client has a complete reply, its row is ${row?.state}`]
  const due = BigInt(call.wordsWritten) * price
  const rest = due - paidFor(row)
  return rest >= 0n && rest <= (row.heldByPlan ?? 0n) && row.uncollected === 0n
    ? undefined
    : [
        'I1',
        `${call.wordsWritten} words cost ${due}, charged ${paidFor(row)}, uncollected ${row.uncollected}`,
      ]
}
/** A charge between the words that arrived and the words written, exactly. */
const ofCut = ({
  client,
  calls: [call],
  rows: [row],
  price,
  killsNearby,
  knownWords,
}: CallRecords): Breach => {
  const chargedAmount = row ? paidFor(row) : 0n
  const maximum = BigInt(call?.wordsWritten ?? 0) * price
  if (chargedAmount > maximum)
    return ['I8', `${call?.wordsWritten} words were written, charged ${chargedAmount}`]
  if (killsNearby !== '' && client.received === 0 && row?.state === 'settled' && row.isEstimated)
    return ['I2', `charged ${chargedAmount} by a kill, although the client received nothing`]
  const minimum =
    BigInt(client.hasLeft && killsNearby === '' ? client.received : knownWords) * price
  if (chargedAmount >= minimum) return undefined
  const how = client.hasLeft ? 'left after' : `was cut (killed: ${killsNearby || 'nothing'}) after`
  const payment = `charged ${chargedAmount / price} (${row?.state})`
  return ['I8', `the client ${how} ${client.received} words, ${payment}`]
}
/** The upstream never fails and accounts have enough, so only an unavailable store and full budgets
 *  refuse; undelivered calls are free. */
const ofRefused = ({ client: { status }, calls, rows: [row] }: CallRecords): Breach => {
  if (status !== 503 && status !== 429) return ['refused', `with ${status}, not with 503 or 429`]
  if (status === 429 && calls.length > 0) return ['refused', 'by a budget, after its upstream call']
  const chargedAmount = row ? paidFor(row) - row.refunded : 0n
  return chargedAmount === 0n ? undefined : ['refused', `${chargedAmount} stays charged`]
}
const OF = { complete: ofComplete, refused: ofRefused, cut: ofCut, unreached: ofCut } as const

/** The number of words delivered in cut streams without a charge, which a kill may cause; without
 *  those that another gateway ended. */
export const unpaid = (logs: Logs): number => {
  const { clients, upstream, ledger, price } = logs
  const knownUntilOf = createKnownUntil(logs)
  const names = new Map(upstream.map(({ client, request }) => [client, request]))
  const chargedWords = new Map(ledger.map(row => [row.request, Number(paidFor(row) / price)]))
  const unpaidOf = ({ client, received }: ClientCall): number =>
    Math.max(0, received - (chargedWords.get(names.get(client) ?? '') ?? 0))
  const isLost = (call: ClientCall): boolean =>
    call.outcome === 'cut' && knownUntilOf(call) === undefined
  return clients.reduce((sum, call) => sum + (isLost(call) ? unpaidOf(call) : 0), 0)
}

/** Violations in the rows of one request. */
const ofRows = (rows: readonly LedgerRow[], calledIds: ReadonlySet<string>): readonly Violation[] =>
  rows.flatMap((row, index) => {
    const violation = (invariant: string, detail: string) => [
      { invariant, subject: row.request, detail },
    ]
    if (index > 0) return violation('I3', 'a second row')
    if (row.state === 'open') return violation('I6', `${row.hold} is still held`)
    if (row.amount > 0n && !calledIds.has(row.request))
      return violation('I2', `phantom: ${row.amount} for a call that did not reach the upstream`)
    return []
  })

const ofBalance = (record: Balance, { ledger, events }: Logs): readonly Violation[] => {
  const { account, credited, balance, reserved } = record
  const spentAmount = sumOf(ledger.filter(row => row.account === account))
  const ownEvents = events.filter(event => event.account === account)
  const isLow = record.threshold !== undefined && balance < record.threshold
  const lowest = balance - (record.refunded ?? 0n)
  const wasLow = record.threshold !== undefined && lowest < record.threshold
  const ids = new Set(ownEvents.map(({ id }) => id)).size
  const rules = [
    [
      'I4',
      balance !== credited - spentAmount,
      `credited ${credited}, spent ${spentAmount}, balance ${balance}`,
    ],
    ['I5', balance < 0n, `the balance is ${balance}`],
    ['I6', reserved !== 0n, `all processes ended, and ${reserved} is reserved`],
    ['I10', isLow && ids === 0, 'the balance is low without an event'],
    ['I10', !wasLow && ids > 0, `the balance is ${balance}, but there is a low-balance event`],
    ['I10', ids > 1, `one crossing, and events ${ownEvents.map(({ id }) => id).join(', ')}`],
    [
      'I10',
      ownEvents.some(({ hasValidSignature }) => !hasValidSignature),
      'an event without a valid signature',
    ],
    [
      'I10',
      new Set(ownEvents.map(({ body }) => body)).size > 1,
      'a repeated event has another body',
    ],
  ] as const
  return rules.flatMap(([invariant, isBroken, detail]) =>
    isBroken ? [{ invariant, subject: `account ${account}`, detail }] : [],
  )
}
const sumOf = (rows: readonly LedgerRow[]): bigint =>
  rows.reduce((sum, { amount }) => sum + amount, 0n)

const ofReports = ({ ledger, reports }: Logs): readonly Violation[] => {
  const first = sumOf(ledger.filter(({ account }) => account === 1))
  const [calls, models, metric] = [reports.calls, reports.models, reports.metric]
  const all = sumOf(ledger)
  return [
    ...(calls === first && models === first
      ? []
      : [`the ledger has ${first}, the usage ${calls} call by call and ${models} in sum`]),
    ...(metric === all ? [] : [`the ledger has ${all}, the metric ${metric}`]),
  ].map(detail => ({ invariant: 'I12', subject: 'reports', detail }))
}
