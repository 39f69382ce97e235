/** How much one caller may ask for: requests per time and at once, exact over the workers of the machine. */
import ipaddr from 'ipaddr.js'
import { errors } from '../engine/errors.ts'
import type { Allowance, Exchange, Host, Next, Plugin } from '../engine/plugin.ts'
import { ACCOUNT, type Account } from './slots.ts'

const fault = errors({
  RATE_LIMITED: [429, 'Rate limit reached: %s. Try again in %d s.'],
  CONCURRENCY_EXCEEDED: [
    429,
    'Too many requests at once: %d at a time. Try again when one has ended.',
    { headers: { 'retry-after': '1' } },
  ],
})

interface Limits {
  readonly requests?: string
  readonly concurrency?: number
}
const PERIODS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 }
const RATE = /^([1-9][0-9]{0,8})\/(s|min|h)$/

export default {
  schema: {
    description:
      'What each API key may do on this route (without a key: each client address). ' +
      'Limits of a key itself stand in their place and count over all routes.',
    type: 'object',
    additionalProperties: false,
    properties: {
      requests: {
        description: 'Requests per second, minute or hour, in windows that begin with the first.',
        type: 'string',
        pattern: RATE.source,
        examples: ['60/min'],
      },
      concurrency: {
        description: 'Requests, streams and WebSocket connections at once.',
        type: 'integer',
        minimum: 1,
        maximum: 1_000_000,
        examples: [5],
      },
    },
    examples: [{ requests: '60/min', concurrency: 5 }],
  },
  // A key's own limits hold on every route.
  default: {},
  setup(options, host) {
    const gates = new Map<string, Gate>()
    /** One gate per spelling of a limit: there are as many as operators wrote. */
    const gateOf = (member: keyof Limits, limit: string | number, where: string): Gate => {
      const spelling = `${member} ${limit} ${where}`
      const gate = gates.get(spelling) ?? OPEN[member](host, `limit/${member}/${where}`, limit)
      gates.set(spelling, gate)
      return gate
    }
    const gatesOf = (limits: Limits = {}): readonly Gate[] =>
      MEMBERS.flatMap(member => {
        const limit = limits[member]
        if (limit !== undefined) return gateOf(member, limit, 'key')
        const usual = options[member]
        return usual === undefined ? [] : gateOf(member, usual, `route ${host.route.name}`)
      })
    const usual = gatesOf()
    const passAll = async (
      gates: readonly Gate[],
      account: Account | undefined,
      exchange: Exchange,
      next: Next,
    ): Promise<void> => {
      const caller = callerOf(account, exchange)
      for (const pass of gates) await pass(caller, exchange)
      await next()
    }
    return {
      handle(exchange, next) {
        const account = exchange.slots.get(ACCOUNT)
        const limits = account?.key?.limits
        const through = limits ? gatesOf(limits) : usual
        return through.length === 0 ? next() : passAll(through, account, exchange, next)
      },
      explain: exchange => ({ ...options, ...exchange.slots.get(ACCOUNT)?.key?.limits }),
    }
  },
} satisfies Plugin<Limits>

/** Lets one exchange of a caller in, or throws. */
type Gate = (caller: string, exchange: Exchange) => Promise<void>
type Open = (host: Host, name: string, limit: string | number) => Gate

// First what can be given back: a request refused for what runs beside it must not count as one.
const MEMBERS: readonly (keyof Limits)[] = ['concurrency', 'requests']
const OPEN: Readonly<Record<keyof Limits, Open>> = {
  concurrency(host, name, limit) {
    const allowance = host.allowance(name, { held: { amount: BigInt(limit) } })
    return async (caller, exchange) => {
      // The client may leave while the owner is asked: what comes after its end goes straight back.
      const state = { taken: false, ended: false }
      exchange.onEnd(() => {
        state.ended = true
        if (state.taken) allowance.give(caller, 1n)
      })
      if (!(await admitted(allowance, caller))) throw fault('CONCURRENCY_EXCEEDED', [limit])
      state.taken = true
      if (state.ended) allowance.give(caller, 1n)
    }
  },
  requests(host, name, limit) {
    const [, amount = '1', period = 'min'] = RATE.exec(String(limit)) ?? []
    const ms = PERIODS[period] ?? 60_000
    const allowance = host.allowance(name, { window: { amount: BigInt(amount), ms } })
    return async caller => {
      if (await admitted(allowance, caller)) return
      const wait = Math.max(1, Math.ceil(allowance.wait(caller) / 1_000))
      throw fault('RATE_LIMITED', [limit, wait], { headers: { 'retry-after': String(wait) } })
    }
  },
}

const admitted = (allowance: Allowance, caller: string): boolean | Promise<boolean> =>
  allowance.take(caller, 1n) ?? allowance.ask(caller, 1n)

const callerOf = (account: Account | undefined, { request }: Exchange): string => {
  if (account?.key) return `key ${account.key.id}`
  if (account) return `account ${account.id}`
  return `address ${networkOf(request.client.address)}`
}
/** One household has 2^64 addresses of version 6: its network counts as one client. */
const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()
}
