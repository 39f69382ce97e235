/** Compares what clients got, what the upstream wrote, what webhooks told and what the ledger says. Believes none of them; pure. */

export interface ClientCall {
  /** The client's own name for it, which the upstream sees in the body. */
  readonly client: string
  readonly stream: boolean
  readonly outcome: 'complete' | 'cut' | 'refused' | 'unreached'
  /** 0: no answer came. */
  readonly status: number
  /** Words that arrived. */
  readonly received: number
  /** When each of these did, ms since 1970. */
  readonly came: readonly number[]
  /** ms since 1970. */
  readonly endedAt: number
  /** It hung up by itself. */
  readonly left: boolean
}
export interface UpstreamCall {
  /** The gateway's name for it, which the ledger has. */
  readonly request: string
  readonly client: string
  /** Words written, at most. */
  readonly emitted: number
  readonly finished: boolean
}
export interface LedgerRow {
  readonly request: string
  readonly account: number
  readonly state: string
  readonly amount: bigint
  readonly held: bigint
  readonly uncollected: bigint
  readonly estimated: boolean
  /** Given back later. */
  readonly refunded: bigint
}
export interface Kill {
  /** ms since 1970. */
  readonly at: number
  readonly kind: string
}
export interface Logs {
  readonly clients: readonly ClientCall[]
  readonly upstream: readonly UpstreamCall[]
  readonly ledger: readonly LedgerRow[]
  readonly kills: readonly Kill[]
  /** ms within which the store must know how far a stream has come. */
  readonly lag: number
  /** Nanos a word. */
  readonly price: bigint
  readonly purses: readonly Purse[]
  readonly events: readonly SinkEvent[]
  /** What is told of the first account's charges; the metric of everybody's. */
  readonly said: Said
}
/** What an account was given, and what is left of it. */
export interface Purse {
  readonly account: number
  readonly given: bigint
  readonly balance: bigint
  readonly reserved: bigint
  /** Of what was charged, since nobody got it: until then the balance was lower. */
  readonly refunded?: bigint
  /** Below it its owner is told. */
  readonly threshold?: bigint
}
export interface SinkEvent {
  readonly account: number
  readonly id: string
  readonly body: string
  readonly signed: boolean
}
/** Nanos: by the usage call by call, by its sums, and by the metric. */
export interface Said {
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
  const called = new Set(logs.upstream.map(({ request }) => request))
  return [
    ...logs.clients.flatMap(client => {
      const mine = calls.get(client.client) ?? []
      const names = [...new Set(mine.map(({ request }) => request))]
      const own = names.flatMap(name => rows.get(name) ?? [])
      const near = logs.kills.filter(({ at }) => Math.abs(client.endedAt - at) < NEAR)
      const killed = near
        .map(({ at, kind }) => `${kind} ${client.endedAt - at} ms before`)
        .join(', ')
      const early = earlyOf(client, logs)
      return ofClient({ client, calls: mine, rows: own, price: logs.price, killed, early })
    }),
    ...[...rows.values()].flatMap(all => ofRows(all, called)),
    ...logs.purses.flatMap(purse => ofPurse(purse, logs)),
    ...ofSaid(logs),
  ]
}

/** ms: what ended this close to a kill may have been ended by it. */
const NEAR = 2_000
/** ms for which a process may not have told a store that was away; if it is killed then, nobody knows more. */
const UNTOLD = 12_000
/** What is killed of a gateway; whatever else is harmed is its store. */
const PROCESSES: ReadonlySet<string> = new Set(['worker', 'all', 'primary'])

/** Words that the store must know of: those that came well before the end, and where the process was killed behind a fault of the
 *  store, well before that. */
const earlyOf = ({ came, endedAt }: ClientCall, { kills, lag }: Logs): number => {
  const killed = kills.some(
    ({ at, kind }) => PROCESSES.has(kind) && at > endedAt - NEAR && at < endedAt + UNTOLD,
  )
  const away = kills.filter(
    ({ at, kind }) => !PROCESSES.has(kind) && at > endedAt - UNTOLD && at <= endedAt,
  )
  const known = killed ? Math.min(endedAt, ...away.map(({ at }) => at)) : endedAt
  return came.filter(at => known - at > lag).length
}

/** One call from end to end. */
interface Traced {
  readonly client: ClientCall
  readonly calls: readonly UpstreamCall[]
  readonly rows: readonly LedgerRow[]
  readonly price: bigint
  /** What was killed as it ended. */
  readonly killed: string
  /** Words that must be paid for in any case. */
  readonly early: number
}
const ofClient = (traced: Traced): readonly Violation[] => {
  const { client, calls, rows } = traced
  const subject = `${client.client} (${calls.map(({ request }) => request).join(', ') || 'never called'})`
  const said = (invariant: string, detail: string) => [{ invariant, subject, detail }]
  // The upstream never fails: there was nothing to try again.
  if (calls.length > 1) return said('I7', `it was called ${calls.length} times`)
  if (rows.length > 1) return said('I3', `${rows.length} rows`)
  const wrong = OF[client.outcome](traced)
  return wrong === undefined ? [] : said(...wrong)
}
type Wrong = readonly [invariant: string, detail: string] | undefined

const ofComplete = ({ calls: [call], rows: [row], price }: Traced): Wrong => {
  if (!call?.finished) return ['I1', 'the client has it whole, the upstream never finished it']
  if (row?.state !== 'settled')
    return ['I1', `lost: the client has it whole, its row is ${row?.state}`]
  const due = BigInt(call.emitted) * price
  return row.amount === due && row.uncollected === 0n
    ? undefined
    : [
        'I1',
        `${call.emitted} words cost ${due}, charged ${row.amount}, uncollected ${row.uncollected}`,
      ]
}
/** Between what arrived and what was written, to the word. */
const ofCut = ({ client, calls: [call], rows: [row], price, killed, early }: Traced): Wrong => {
  const charged = row?.state === 'settled' ? row.amount + row.uncollected : 0n
  const most = BigInt(call?.emitted ?? 0) * price
  if (charged > most) return ['I8', `${call?.emitted} words were written, charged ${charged}`]
  if (killed !== '' && client.received === 0 && row?.state === 'settled' && row.estimated)
    return ['I2', `charged ${charged} by a kill, and the client had got nothing`]
  const least = BigInt(client.left && killed === '' ? client.received : early) * price
  if (charged >= least) return undefined
  const how = client.left ? 'left after' : `was cut (killed: ${killed || 'nothing'}) after`
  const paid = `charged ${charged / price} (${row?.state})`
  return ['I8', `the client ${how} ${client.received} words, ${paid}`]
}
/** The upstream never fails and accounts have enough: only a store that is away refuses; and nobody pays for what nobody got. */
const ofRefused = ({ client: { status }, rows: [row] }: Traced): Wrong => {
  if (status !== 503) return ['refused', `with ${status}, not with 503`]
  const charged = row?.state === 'settled' ? row.amount + row.uncollected - row.refunded : 0n
  return charged === 0n ? undefined : ['refused', `and ${charged} stays charged`]
}
const OF = { complete: ofComplete, refused: ofRefused, cut: ofCut, unreached: ofCut } as const

/** Words that clients got of streams that were cut, and that nobody paid for: what a kill may cost. */
export const unpaid = ({ clients, upstream, ledger, price }: Logs): number => {
  const names = new Map(upstream.map(({ client, request }) => [client, request]))
  const paid = new Map(ledger.map(({ request, amount }) => [request, Number(amount / price)]))
  const of = ({ client, received }: ClientCall): number =>
    Math.max(0, received - (paid.get(names.get(client) ?? '') ?? 0))
  return clients.reduce((sum, call) => sum + (call.outcome === 'cut' ? of(call) : 0), 0)
}

/** All rows of one name. */
const ofRows = (rows: readonly LedgerRow[], called: ReadonlySet<string>): readonly Violation[] =>
  rows.flatMap((row, index) => {
    const said = (invariant: string, detail: string) => [
      { invariant, subject: row.request, detail },
    ]
    if (index > 0) return said('I3', 'a second row')
    if (row.state === 'open') return said('I6', `${row.held} is still held`)
    if (row.amount > 0n && !called.has(row.request))
      return said('I2', `phantom: ${row.amount} for a call that never left`)
    return []
  })

const ofPurse = (purse: Purse, { ledger, events }: Logs): readonly Violation[] => {
  const { account, given, balance, reserved } = purse
  const spent = sumOf(ledger.filter(row => row.account === account))
  const told = events.filter(event => event.account === account)
  const crossed = purse.threshold !== undefined && balance < purse.threshold
  const least = balance - (purse.refunded ?? 0n)
  const passing = purse.threshold !== undefined && least < purse.threshold
  const ids = new Set(told.map(({ id }) => id)).size
  const books = [
    ['I4', balance !== given - spent, `given ${given}, spent ${spent}, left ${balance}`],
    ['I5', balance < 0n, `the balance is ${balance}`],
    ['I6', reserved !== 0n, `nobody is left, and ${reserved} is reserved`],
    ['I10', crossed && ids === 0, 'its balance is low, and nobody was told'],
    [
      'I10',
      !passing && ids > 0,
      `its balance is ${balance}, and its owner was told that it is low`,
    ],
    ['I10', ids > 1, `one crossing, and events ${told.map(({ id }) => id).join(', ')}`],
    ['I10', told.some(({ signed }) => !signed), 'an event without a good signature'],
    [
      'I10',
      new Set(told.map(({ body }) => body)).size > 1,
      'an event that comes again says something else',
    ],
  ] as const
  return books.flatMap(([invariant, wrong, detail]) =>
    wrong ? [{ invariant, subject: `account ${account}`, detail }] : [],
  )
}
const sumOf = (rows: readonly LedgerRow[]): bigint =>
  rows.reduce((sum, { amount }) => sum + amount, 0n)

const ofSaid = ({ ledger, said }: Logs): readonly Violation[] => {
  const first = sumOf(ledger.filter(({ account }) => account === 1))
  const [calls, models, metric] = [said.calls, said.models, said.metric]
  const all = sumOf(ledger)
  return [
    ...(calls === first && models === first
      ? []
      : [`the ledger has ${first}, the usage ${calls} call by call and ${models} in sum`]),
    ...(metric === all ? [] : [`the ledger has ${all}, the metric ${metric}`]),
  ].map(detail => ({ invariant: 'I12', subject: 'what is told', detail }))
}
