/** The clients of a chaos run, in their own process: they call continuously and record what they
 *  receive. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { createChance } from '../helpers/run-settings.ts'
import type { ClientCall } from './checker.ts'

type MutableCall = { -readonly [Name in keyof ClientCall]: ClientCall[Name] }
export type ClientMessage = Target | 'stop'
interface Target {
  /** The last of each gateway. */
  readonly urls: readonly string[]
  readonly key: string
  /** Keys that are used once each. */
  readonly small: readonly string[]
  /** Keys of teams, one after another. */
  readonly teams: readonly string[]
  /** How many tags the configuration knows. */
  readonly projects: number
}

/** One call in `interval` uses a small key. */
const [seed = '1', concurrency = '12', interval = '20'] = process.argv.slice(2)
const chance = createChance(Number(seed))
const upTo = (most: number): number => Math.floor(chance() * most)
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const agent = new Agent({ keepAlive: true })
const log: MutableCall[] = []
let target: Target | undefined
let usedCount = 0
/** Small keys whose call did not reach the gateway. */
const returnedKeys: string[] = []
let isStopped = false

/** Complete words only. */
const WORD = /"content":"word"/g
const wordsIn = (text: string): number => text.match(WORD)?.length ?? 0
const isWhole = (stream: boolean, text: string): boolean =>
  stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}')

const read = (
  call: MutableCall,
  leaveAt: number,
  response: IncomingMessage,
  done: () => void,
): void => {
  let text = ''
  const arrivals: number[] = []
  call.arrivals = arrivals
  call.status = response.statusCode ?? 0
  answerCount++
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part
    call.received = call.stream ? wordsIn(text) : 0
    while (arrivals.length < call.received) arrivals.push(Date.now())
    if (call.received < leaveAt) return
    call.hasLeft = true
    response.destroy()
  })
  response.on('close', () => {
    call.endedAt = Date.now()
    const isComplete = response.complete && isWhole(call.stream, text)
    if (call.status >= 400) call.outcome = 'refused'
    else if (isComplete) call.outcome = 'complete'
    done()
  })
  response.on('error', done)
}
/** More answers than the budgets of one project and of one team cover: a part of the calls names a
 *  project, and a part is of a team. */
const ANSWERS_OF_ONE = 110
const OF_TEAMS = 0.45
let answerCount = 0
const current = (count: number): number => Math.floor(answerCount / ANSWERS_OF_ONE) % count
const ask = ({ urls, key: usual, small, teams, projects }: Target): Promise<void> => {
  const gateway = upTo(urls.length)

  const smallKey =
    log.length % Number(interval) === 0 ? (returnedKeys.pop() ?? small[usedCount++]) : undefined
  const teamKey =
    smallKey === undefined && chance() < OF_TEAMS ? teams[current(teams.length)] : undefined
  const key = smallKey ?? teamKey ?? usual
  const stream = chance() < 0.6
  const leaveAt = chance() < 0.15 ? 1 + upTo(15) : Number.POSITIVE_INFINITY
  const call: MutableCall = {
    client: `c${log.length}`,
    gateway,
    stream,
    outcome: 'cut',
    status: 0,
    received: 0,
    arrivals: [],
    hasLeft: false,
    endedAt: 0,
  }
  log.push(call)
  const body = { model: 'tokens', messages: [], user: call.client, max_tokens: 60, stream }
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...(key === usual && { 'x-tollgate-tags': `project=p${current(projects)}` }),
  }
  const options = { method: 'POST', agent, headers }
  return new Promise(done => {
    const outgoing = request(`${urls[gateway]}/v1/chat/completions`, options, response =>
      read(call, leaveAt, response, done),
    )
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') {
        call.outcome = 'unreached'
        if (smallKey !== undefined) returnedKeys.push(smallKey)
      }
      done()
    })
    outgoing.setTimeout(20_000, () => outgoing.destroy())
    outgoing.end(JSON.stringify(body))
  })
}
/** Calls after the stop: a run on a busy machine ends with at least a few complete replies. */
const [FEW, MOST_AFTER] = [3, 100]
let callsAfter = 0
const isEnough = (): boolean =>
  log.filter(({ outcome }) => outcome === 'complete').length >= FEW || callsAfter++ >= MOST_AFTER
const loop = async (): Promise<void> => {
  while (!isStopped || !isEnough()) {
    const before = log.length
    if (target) await ask(target)
    const { outcome } = log[before] ?? {}
    // Other clients get a turn while the gateway is unavailable.
    await pause(outcome === 'complete' ? upTo(10) : 40)
  }
}

process.on('disconnect', () => process.exit(0))
process.on('message', (message: ClientMessage) => {
  if (message === 'stop') isStopped = true
  else target = message
})
await Promise.all(Array.from({ length: Number(concurrency) }, loop))
process.send?.({ log })
