/** The refusal of a call that the balance does not cover: cost, balance and remedy, in the
 *  currency. */
import t from 'tap'
import { roundMoney } from '../../../plugins/billing/money.ts'
import { insufficientFunds, type RefusalTerms } from '../../../plugins/ledger/insufficient-funds.ts'
import type { Payer } from '../../../plugins/ledger/ledger.ts'

const CNY = 1_000_000_000n
const COST = 1_888_372_800n
const payer: Payer = { account: 1, key: 2, quota: 5n * CNY }

/** `total`: what is available once other calls have ended; by default no more than now. */
const refuse = (
  room: (payer: Payer) => Promise<bigint>,
  limitField?: string,
  total?: bigint,
): ReturnType<typeof insufficientFunds> => {
  const funds: RefusalTerms['ledger']['funds'] = async payer => {
    const available = await room(payer)
    return { available, total: total ?? available }
  }
  return insufficientFunds({ ledger: { funds }, currency: 'CNY', limitField })
}

t.test('insufficient funds: says when to retry only if other calls hold the money', async t => {
  const lasting = await refuse(async () => 5n)('account', payer, COST)
  t.equal(lasting.headers, undefined)
  const passing = await refuse(async () => 5n, undefined, COST)('account', payer, COST)
  t.same(passing.headers, { 'retry-after': '1' })
})

t.test('insufficient funds: rounds the cost up and the balance of the account down', async t => {
  const payers: Payer[] = []
  const fault = await refuse(async who => {
    payers.push(who)
    return 409_999_999n
  }, 'max_tokens')('account', payer, COST)
  t.match(fault, { code: 'INSUFFICIENT', status: 403, expose: true })
  t.equal(
    fault.message,
    'Insufficient balance: this call may cost up to 1.89 CNY, 0.40 CNY of your balance is available now. Lower max_tokens or add credit.',
  )
  t.same(
    payers,
    [{ account: 1, key: undefined, quota: undefined }],
    'the balance of the account, not the quota of its key',
  )
})

t.test('insufficient funds: shows the remaining quota of a key', async t => {
  const fault = await refuse(async who => who.quota ?? 0n, 'maxOutputTokens')(
    'key',
    payer,
    6n * CNY,
  )
  t.equal(fault.code, 'KEY_EXHAUSTED')
  t.equal(
    fault.message,
    'Insufficient quota: this call may cost up to 6.00 CNY, 5.00 CNY of this API key is available now. Lower maxOutputTokens or raise the quota of the key.',
  )
})

t.test(
  'insufficient funds: handles formats without an output limit, and a negative balance',
  async t => {
    const fault = await refuse(async () => -3n * CNY)('account', payer, 936_000n)
    t.equal(
      fault.message,
      'Insufficient balance: this call may cost up to 0.00094 CNY, 0.00 CNY of your balance is available now. Add credit.',
    )
  },
)

t.test(
  'insufficient funds: shows no balance if money was released since, or if the store fails',
  async t => {
    const text =
      'Insufficient balance: this call may cost up to 1.89 CNY, and other calls hold the rest of the balance. Retry when they have ended.'
    const rooms = [async () => COST, () => Promise.reject(new Error('away'))]
    for (const room of rooms) t.equal((await refuse(room)('account', payer, COST)).message, text)
  },
)

t.test('roundMoney: rounds amounts for display', async t => {
  const cases: readonly (readonly [nanos: bigint, up: string, down: string])[] = [
    [0n, '0.00', '0.00'],
    [1n, '0.000000001', '0.000000001'],
    [999n, '0.00000100', '0.00000099'],
    [9_999_999n, '0.0100', '0.0099'],
    [10_000_000n, '0.01', '0.01'],
    [10_000_001n, '0.02', '0.01'],
    [1_888_372_800n, '1.89', '1.88'],
    [12_345n * CNY, '12345.00', '12345.00'],
  ]
  for (const [nanos, up, down] of cases)
    t.same([roundMoney(nanos, 'up'), roundMoney(nanos, 'down')], [up, down], String(nanos))
})
