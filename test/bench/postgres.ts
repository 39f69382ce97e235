/** `npm run bench:postgres`: durable billed calls of one gateway, and of two on one database,
 *  beside the PostgreSQL server and the load on the same cores. */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgres } from '../helpers/store/postgres.ts'
import { requestBody } from './answers.ts'
import { type Gateway, PATH, startGateway } from './gateway.ts'
import { cpuOf, start } from './processes.ts'
import { loadThrough, requestOf } from './rounds.ts'
import { median } from './tables.ts'

const HELP = `npm run bench:postgres -- [options]

  --gateways N     1 or 2 on one database; 1
  --rounds N       5
  --seconds N      of one measurement; 5`

const { values } = parseArgs({
  options: {
    gateways: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const SIZE = { routes: 10, models: 10 }
const CONNECTIONS = 64
/** Calls a second of the second table. */
const RATE = 500

interface Outcome {
  /** Calls a second, of all gateways. */
  readonly rate: number
  /** µs of the gateways' processes, without the server. */
  readonly cpu: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
}

const main = async (): Promise<void> => {
  const server = await startPostgres()
  const upstream = await start('upstream.ts', undefined, ['50000'])
  const url = await server.create()
  const gateways: Gateway[] = []
  for (let index = 0; index < Number(values.gateways); index++) {
    const database = { url, isFirst: index === 0 }
    gateways.push(await startGateway(SIZE, upstream.port, undefined, 'billed', database))
  }
  const loads = await Promise.all(
    gateways.map(async () => loadThrough(await start('load.ts', undefined, []))),
  )
  // Only the first start of a database prints a key.
  const key = gateways[0]?.key ?? ''
  const measure = async (seconds: number, rate?: number): Promise<Outcome> => {
    const before = gateways.map(({ pid }) => cpuOf(pid))
    const outcomes = await Promise.all(
      gateways.map(({ port }, index) =>
        loads[index]?.({
          port,
          request: requestOf({ name: 'gateway', pid: 0, port, key }, PATH, requestBody('plain')),
          connections: CONNECTIONS / gateways.length,
          seconds,
          ...(rate !== undefined && { rate: rate / gateways.length }),
        }),
      ),
    )
    const done = outcomes.filter(each => each !== undefined)
    const sum = (of: (outcome: (typeof done)[number]) => number): number =>
      done.reduce((total, each) => total + of(each), 0)
    const requests = sum(each => each.requests)
    const cpu = gateways.reduce((all, { pid }, at) => all + cpuOf(pid) - (before[at] ?? 0), 0)
    return {
      rate: requests / seconds,
      cpu: (cpu / requests) * 1e6,
      p50: Math.max(...done.map(each => each.p50)),
      p99: Math.max(...done.map(each => each.p99)),
      failed: sum(each => each.failed),
    }
  }
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
  await measure(2 * seconds)
  console.log(
    '| load | calls/s | CPU µs/call | p50 ms | p99 ms | failed |\n| --- | --: | --: | --: | --: | --: |',
  )
  for (const rate of [undefined, RATE]) {
    const outcomes: Outcome[] = []
    for (let round = 0; round < rounds; round++) outcomes.push(await measure(seconds, rate))
    const name = rate === undefined ? `${CONNECTIONS} connections` : `${rate}/s`
    const of = (pick: (outcome: Outcome) => number, digits: number): string =>
      median(outcomes.map(pick)).toFixed(digits)
    const cells = [
      of(each => each.rate, 0),
      of(each => each.cpu, 1),
      of(each => each.p50, 2),
      of(each => each.p99, 2),
      of(each => each.failed, 0),
    ]
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  for (const { child } of gateways) child.kill('SIGTERM')
  await pause(2_000)
  process.exit(0)
}

if (values.help) console.log(HELP)
else await main()
