/** The clients' side of a chaos run, in a process of its own: asks all the time, and keeps what it really got. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { createChance } from '../helpers/seeded.ts'
import type { ClientCall } from './checker.ts'

type Kept = { -readonly [Name in keyof ClientCall]: ClientCall[Name] }
export type Told = Aim | 'stop'
interface Aim {
  readonly url: string
  readonly key: string
  /** Keys that are used once each. */
  readonly small: readonly string[]
}

/** One call in `often` is for one of the small keys. */
const [seed = '1', together = '12', often = '20'] = process.argv.slice(2)
const chance = createChance(Number(seed))
const upTo = (most: number): number => Math.floor(chance() * most)
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const agent = new Agent({ keepAlive: true })
const log: Kept[] = []
let aim: Aim | undefined
let used = 0
/** Keys with which nobody was reached. */
const unused: string[] = []
let stopped = false

/** Words that came whole. */
const WORD = /"content":"word"/g
const wordsIn = (text: string): number => text.match(WORD)?.length ?? 0
const isWhole = (stream: boolean, text: string): boolean =>
  stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}')

const read = (call: Kept, leaveAt: number, response: IncomingMessage, over: () => void): void => {
  let text = ''
  const came: number[] = []
  call.came = came
  call.status = response.statusCode ?? 0
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part
    call.received = call.stream ? wordsIn(text) : 0
    while (came.length < call.received) came.push(Date.now())
    if (call.received < leaveAt) return
    call.left = true
    response.destroy()
  })
  response.on('close', () => {
    call.endedAt = Date.now()
    const whole = response.complete && isWhole(call.stream, text)
    if (call.status >= 400) call.outcome = 'refused'
    else if (whole) call.outcome = 'complete'
    over()
  })
  response.on('error', over)
}
const ask = ({ url, key: usual, small }: Aim): Promise<void> => {
  const spare = log.length % Number(often) === 0 ? (unused.pop() ?? small[used++]) : undefined
  const key = spare ?? usual
  const stream = chance() < 0.6
  const leaveAt = chance() < 0.15 ? 1 + upTo(15) : Number.POSITIVE_INFINITY
  const call: Kept = {
    client: `c${log.length}`,
    stream,
    outcome: 'cut',
    status: 0,
    received: 0,
    came: [],
    left: false,
    endedAt: 0,
  }
  log.push(call)
  const body = { model: 'tokens', messages: [], user: call.client, max_tokens: 60, stream }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const options = { method: 'POST', agent, headers }
  return new Promise(over => {
    const asking = request(`${url}/v1/chat/completions`, options, response =>
      read(call, leaveAt, response, over),
    )
    asking.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') {
        call.outcome = 'unreached'
        if (spare !== undefined) unused.push(spare)
      }
      over()
    })
    asking.setTimeout(20_000, () => asking.destroy())
    asking.end(JSON.stringify(body))
  })
}
const loop = async (): Promise<void> => {
  while (!stopped) {
    const before = log.length
    if (aim) await ask(aim)
    const { outcome } = log[before] ?? {}
    // Nobody there at present: others are let through.
    await pause(outcome === 'complete' ? upTo(10) : 40)
  }
}

process.on('disconnect', () => process.exit(0))
process.on('message', (told: Told) => {
  if (told === 'stop') stopped = true
  else aim = told
})
await Promise.all(Array.from({ length: Number(together) }, loop))
process.send?.({ log })
