/** `checkAnswers` reports nothing if the records of a client, the upstreams and the ledger agree,
 *  and each record that is wrong. */
import t from 'tap'
import { type AnswerCharge, type AnswerLogs, checkAnswers } from './checker.ts'
import type { AnswerCall } from './client.ts'
import { COPY_COSTS, COSTS, UPSTREAM_NAMES } from './configuration.ts'
import type { AnsweredCall } from './upstream.ts'

const CALL: AnswerCall = {
  id: 'r1',
  account: 1,
  model: 'exact',
  stream: false,
  question: 'Question 0. I am client-a@example.com.',
  email: 'client-a@example.com',
  conversation: 'c',
  blocked: undefined,
  status: 200,
  cache: 'miss',
  rule: '',
  body: '{}',
  answer: 'Answer 1 for client-a@example.com end-1.',
  isComplete: true,
  hasLeft: false,
  ms: 10,
}
const HIT: AnswerCall = {
  ...CALL,
  id: 'r2',
  cache: 'hit; age=0; kind=exact',
  email: 'client-b@example.com',
  answer: 'Answer 1 for client-b@example.com end-1.',
}
const BLOCKED: AnswerCall = {
  ...CALL,
  id: 'r3',
  model: 'guarded',
  blocked: 'input',
  status: 400,
  cache: '',
  body: '{"error":"The guard does not allow this answer."}',
}
const RULED: AnswerCall = {
  ...CALL,
  id: 'r4',
  model: 'ruled',
  cache: '',
  rule: 'canary',
  answer: 'Answer 3 end-3.',
}
const CUT: AnswerCall = { ...CALL, id: 'r5', isComplete: false, answer: '' }
const COPIED: AnswerCall = { ...RULED, id: 'r6', model: 'copied', rule: '', answer: 'Answer 4.' }
const charge = (request: string, more: Partial<AnswerCharge> = {}): AnswerCharge => ({
  request,
  account: 1,
  model: 'exact',
  state: 'settled',
  amount: COSTS.answer,
  refunded: 0n,
  cache: undefined,
  rule: undefined,
  ...more,
})
const callOf = (request: string, answer: string, more: Partial<AnsweredCall> = {}) => ({
  request,
  model: 'exact-up',
  question: 'Question 0. I am [EMAIL_1].',
  answer,
  isFinished: true,
  ...more,
})
const ENTRY = { account: 1, request: 'r1', text: '"Answer 1 for [EMAIL_1] end-1."' }
const LOGS: AnswerLogs = {
  clients: [CALL, HIT, BLOCKED, RULED, CUT, COPIED],
  upstream: [
    callOf('r1', 'Answer 1 for [EMAIL_1] end-1.'),
    callOf('r3', 'heron! Answer 2 end-2.', { model: 'guarded-up' }),
    callOf('r4', 'Answer 3 end-3.', { model: UPSTREAM_NAMES.canary }),
    callOf('r6', 'Answer 4.', { model: 'copied-up' }),
    callOf('copy-1', 'Answer 5.', { model: UPSTREAM_NAMES.copy }),
  ],
  charges: [
    charge('r1'),
    charge('r2', { amount: COSTS.cached, cache: 'r1' }),
    charge('r3', { amount: COSTS.input }),
    charge('r4', { rule: 'canary' }),
    charge('r5', { state: 'released', amount: 0n }),
    charge('r6'),
  ],
  cached: [ENTRY],
  copies: { calls: 1, failed: 0, cost: COPY_COSTS.copy, used: COPY_COSTS.copy },
}
const invariantsOf = (logs: AnswerLogs) => [
  ...new Set(checkAnswers(logs).map(({ invariant }) => invariant)),
]
const withCall = (call: AnswerCall, more: Partial<AnswerCall>): AnswerLogs => ({
  ...LOGS,
  clients: LOGS.clients.map(each => (each === call ? { ...call, ...more } : each)),
})
const withCharge = (request: string, more: Partial<AnswerCharge>): AnswerLogs => ({
  ...LOGS,
  charges: LOGS.charges.map(each => (each.request === request ? { ...each, ...more } : each)),
})
const withUpstreamCall = (request: string, more: Partial<AnsweredCall>): AnswerLogs => ({
  ...LOGS,
  upstream: LOGS.upstream.map(each => (each.request === request ? { ...each, ...more } : each)),
})
const withCopies = (more: Partial<AnswerLogs['copies']>): AnswerLogs => ({
  ...LOGS,
  copies: { ...LOGS.copies, ...more },
})

t.test('answers: records that agree break nothing', async t => {
  t.same(checkAnswers(LOGS), [])
  const killed = COPY_COSTS.reserved
  const withoutCopy = withCopies({ calls: 0, cost: 0n, used: killed })
  t.same(checkAnswers(withoutCopy), [], 'a copy whose process was killed keeps its reservation')
  const free = withCall(BLOCKED, { blocked: 'free' })
  const freeCharge = { ...free, charges: withCharge('r3', { state: 'released' }).charges }
  t.same(checkAnswers(freeCharge), [])
})

const WRONG: Readonly<Record<string, readonly [invariant: string, logs: AnswerLogs]>> = {
  'an answer without a charge': ['I1', withCharge('r1', { state: 'released' })],
  'an answer at another price': ['I1', withCharge('r1', { amount: 1n })],
  'an answer from the cache at the price of a call': [
    'I1',
    withCharge('r2', { amount: COSTS.answer }),
  ],
  'an answer from the cache whose charge names no call': [
    'I1',
    withCharge('r2', { cache: undefined }),
  ],
  'an answer from the cache that is refunded': ['I1', withCharge('r2', { refunded: 1n })],
  'a charge of another account': ['leak', withCharge('r1', { account: 2 })],
  'an answer that another account has asked for': [
    'leak',
    { ...withCall(HIT, { account: 2 }), charges: withCharge('r2', { account: 2 }).charges },
  ],
  'the e-mail address of another client': ['leak', withCall(HIT, { answer: CALL.answer })],
  'a stored answer of another account': ['leak', { ...LOGS, cached: [{ ...ENTRY, account: 2 }] }],
  'an answer that the upstream broke off': ['cache', withUpstreamCall('r1', { isFinished: false })],
  'another stored answer': ['cache', { ...LOGS, cached: [{ ...ENTRY, text: '"Answer"' }] }],
  'a charge without an upstream call': [
    'I2',
    { ...LOGS, charges: [...LOGS.charges, charge('r9')] },
  ],
  'a cut call that is charged, and no upstream was asked': [
    'I2',
    withCharge('r5', { state: 'settled', amount: 1n }),
  ],
  'an open charge': ['I6', withCharge('r5', { state: 'open' })],
  'a request that was sent twice': [
    'I7',
    { ...LOGS, upstream: [...LOGS.upstream, ...LOGS.upstream.slice(0, 1)] },
  ],
  'a request that never ends': ['stuck', withCall(CUT, { ms: 60_000 })],
  'a status that nothing explains': ['refused', withCall(COPIED, { status: 500, body: '{}' })],
  'a refused call that stays charged': ['refused', withCall(COPIED, { status: 503 })],
  'a text that guards keep from upstreams': [
    'guards',
    withUpstreamCall('r1', { question: 'I@example' }),
  ],
  'a word that guards keep from clients': ['guards', withCall(BLOCKED, { body: 'A heron' })],
  'a blocked answer at the price of a whole one': [
    'guards',
    withCharge('r3', { amount: COSTS.answer }),
  ],
  'a blocked answer that came through': ['guards', withCall(BLOCKED, { status: 200, body: '{}' })],
  'another rule in the charge': ['rules', withCharge('r4', { rule: undefined })],
  'a conversation that changes its rule': [
    'rules',
    {
      ...LOGS,
      clients: [...LOGS.clients, { ...RULED, id: 'r7', rule: '', isComplete: false }],
    },
  ],
  'a charge of a copy': ['mirror', { ...LOGS, charges: [...LOGS.charges, charge('copy-1')] }],
  'copies that were never sent': ['mirror', withCopies({ calls: 2, cost: 2n * COPY_COSTS.copy })],
  'copies at another price': ['mirror', withCopies({ cost: 1n })],
  'a budget that forgot a copy': ['mirror', withCopies({ used: 0n })],
  'a budget with more than was copied': ['mirror', withCopies({ used: 9n * COPY_COSTS.copy })],
}
for (const [name, [invariant, logs]] of Object.entries(WRONG))
  t.test(`answers: ${name} is found`, async t => {
    t.ok(invariantsOf(logs).includes(invariant), JSON.stringify(invariantsOf(logs)))
  })
