/** Clients of two accounts that ask equal and similar questions at once, say what guards block, and
 *  call models with copies and rules. They record what they receive. */
import { setTimeout as pause } from 'node:timers/promises'
import { BLOCKED_WORDS, type BlockedPart, FORBIDDEN, type ModelName } from './configuration.ts'

export interface Payer {
  readonly account: number
  readonly key: string
}
export interface AnswerCall {
  /** The gateway's id of it; empty if no head arrived. */
  readonly id: string
  readonly account: number
  readonly model: ModelName
  readonly stream: boolean
  /** Its text, which has this e-mail address where the model is `exact`. */
  readonly question: string
  readonly email: string
  readonly conversation: string
  /** The guard that will block the answer; `request`: the request is blocked. */
  readonly blocked: BlockedPart | 'request' | undefined
  /** 0 if no head arrived. */
  readonly status: number
  /** The headers `x-tollgate-cache` and `x-tollgate-rule`. */
  readonly cache: string
  readonly rule: string
  /** All bytes, and the text of the answer in them. */
  readonly body: string
  readonly answer: string
  /** Whether the last byte arrived; of a stream, its last event. */
  readonly isComplete: boolean
  readonly hasLeft: boolean
  readonly ms: number
}
interface Question {
  readonly model: ModelName
  readonly question: string
  readonly blocked?: AnswerCall['blocked']
}

/** Clients of each account: all of them, and those of the other account, ask an equal question. */
const CLIENTS = 3
/** ms until a call is given up: a leader that stops is replaced after eight seconds, and its
 *  request waits at most thirty. */
export const LONGEST = 45_000
const CONVERSATIONS = 12
/** How often a short run asks each model. */
const FEWEST_ROUNDS = 2

const MODEL_TURNS: readonly ModelName[] = [
  'exact',
  'similar',
  'exact',
  'guarded',
  'copied',
  'ruled',
]
const WAYS = ['Please explain', 'Tell me about', 'What is'] as const
/** Digits would make texts differ for the cache. */
const letters = (value: number): string =>
  [...String(value)].map(digit => 'abcdefghij'[Number(digit)]).join('')

/** The question of a client in this round. `client`: its number among those that ask the same. */
const questionOf = (round: number, client: number, email: string): Question => {
  const model = MODEL_TURNS[round % MODEL_TURNS.length] ?? 'exact'
  if (model === 'exact') return { model, question: `Question ${round}. I am ${email}.` }
  if (model === 'similar')
    return { model, question: `${WAYS[client % WAYS.length]} topic ${letters(round)}` }
  if (model !== 'guarded') return { model, question: `Question ${round} of ${client}.` }
  const parts = [...Object.keys(BLOCKED_WORDS), 'request'] as const
  const blocked = parts[(round + client) % parts.length] as AnswerCall['blocked'] & string
  const word = blocked === 'request' ? FORBIDDEN : BLOCKED_WORDS[blocked]
  return { model, blocked, question: `Question ${round}: say ${word}.` }
}

/** Calls until `isOver`. Resolves when every call has ended. */
export const callForAnswers = async (
  url: () => string,
  payers: readonly Payer[],
  chance: () => number,
  isOver: () => boolean,
): Promise<readonly AnswerCall[]> => {
  const calls: AnswerCall[] = []
  const clients = payers.flatMap(payer => Array.from({ length: CLIENTS }, () => payer))
  let turn = 0
  const loop = async (payer: Payer, client: number): Promise<void> => {
    while (!isOver() || turn < clients.length * MODEL_TURNS.length * FEWEST_ROUNDS) {
      // As many turns as there are clients have the same question.
      const round = Math.floor(turn++ / clients.length)
      const call = await ask(url(), payer, questionOf(round, client, emailOf(client)), chance)
      calls.push(call)
      await pause(call.status === 200 ? chance() * 20 : 40)
    }
  }
  await Promise.all(clients.map(loop))
  return calls
}
const emailOf = (client: number): string => `client-${letters(client)}@example.com`

const ask = async (
  url: string,
  { account, key }: Payer,
  { model, question, blocked }: Question,
  chance: () => number,
): Promise<AnswerCall> => {
  const isMessages = chance() < 0.4
  const stream = chance() < 0.5
  // The cost of a copy depends on the whole answer.
  const leaveAt = stream && model !== 'copied' && chance() < 0.1 ? chance() * 300 : LONGEST
  const conversation = `conversation ${Math.floor(chance() * CONVERSATIONS)}`
  const path = isMessages ? '/answers/v1/messages' : '/answers/v1/chat/completions'
  const messages = [{ role: 'user', content: question }]
  const body = { model, messages, temperature: 0, max_tokens: 50, stream }
  const start = performance.now()
  const reply = { status: 0, id: '', cache: '', rule: '', body: '', isEnded: false }
  const leave = AbortSignal.timeout(Math.ceil(leaveAt))
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-session-id': conversation,
      },
      body: JSON.stringify(body),
      signal: leave,
    })
    reply.status = response.status
    reply.id = response.headers.get('x-request-id') ?? ''
    reply.cache = response.headers.get('x-tollgate-cache') ?? ''
    reply.rule = response.headers.get('x-tollgate-rule') ?? ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? [])
      reply.body += decoder.decode(chunk as Uint8Array, { stream: true })
    reply.isEnded = true
  } catch {
    // The gateway was killed, or the client has left.
  }
  const { isEnded, ...rest } = reply
  return {
    ...rest,
    account,
    model,
    stream,
    question,
    blocked,
    conversation,
    email: model === 'exact' ? (/\S+@\S+\.com/.exec(question)?.[0] ?? '') : '',
    answer: textIn(reply.body, stream && reply.status === 200),
    isComplete: isEnded && isWhole(reply.body, stream && reply.status === 200),
    hasLeft: leave.aborted,
    ms: performance.now() - start,
  }
}

const isWhole = (body: string, stream: boolean): boolean =>
  stream
    ? body.endsWith('data: [DONE]\n\n') || body.includes('event: message_stop')
    : body.endsWith('}')

interface Event {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string }
    readonly message?: { readonly content?: string }
  }[]
  readonly delta?: { readonly text?: string }
  readonly content?: readonly { readonly text?: string }[]
}
/** The text of an answer of Chat Completions or Messages; of a stream, as far as it came. */
const textIn = (body: string, stream: boolean): string => {
  const bodies = stream ? body.split('\n').flatMap(dataOf) : [body]
  return bodies.map(textOf).join('')
}
const dataOf = (line: string): string[] => (line.startsWith('data: {') ? [line.slice(6)] : [])
const textOf = (json: string): string => {
  try {
    const { choices: [choice] = [], delta, content } = JSON.parse(json) as Event
    const chat = choice?.delta?.content ?? choice?.message?.content
    return chat ?? delta?.text ?? content?.map(({ text = '' }) => text).join('') ?? ''
  } catch {
    return ''
  }
}
