/** Codes and payments on both stores: each becomes credit once, whoever reports it and however
 *  often. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { digestOfCode, makeCode } from '../../../plugins/ledger/payments/codes.ts'
import { type Actor, runOperation } from '../../../plugins/operator/operation.ts'
import type { CodeRow, CreditRow, NewCode } from '../../../plugins/views.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { operationNamed, runAs } from '../../helpers/store/operations.ts'
import { startBoth } from '../../helpers/store/store.ts'

const OPERATOR: Actor = { via: 'admin API', name: 'root', account: 1 }
const run = <T>(host: HostBase, name: string, args: object): Promise<T> =>
  runAs({ host, actor: OPERATOR }, name, args)
const redeem = (host: HostBase, own: number, code: string) => {
  const actor = { via: 'own account', name: `account ${own}`, account: own } as const
  const caller = { host, actor, own }
  return runAs<{ credited: string; balance: string }>(caller, 'codes redeem', { code })
}

t.test('codes: are read as people type them', t => {
  const code = makeCode()
  t.match(code, /^(?:[0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/)
  t.equal(digestOfCode(code.toLowerCase().replaceAll('-', ' ')), digestOfCode(code))
  t.equal(digestOfCode('O0O0O-IL1IL-ABCDE-FGHJK'), digestOfCode('00000-11111-ABCDE-FGHJK'))
  for (const wrong of ['', 'ABC', `${code}A`, 'UUUUU-UUUUU-UUUUU-UUUUU', '\u0000'])
    t.equal(digestOfCode(wrong), undefined)
  t.end()
})

for (const { engine, database } of await startBoth(t, [])) {
  const host = hostOver(database)
  t.before(async () => {
    const { account } = await openAccountsIn(database)
    await makeLedger(database)
    await account('root', 'admin')
    for (const name of ['ann', 'bob']) await account(name)
  })
  const [ann, bob] = [2, 3]

  t.test(`codes on ${engine}: become credit once`, async t => {
    const codes = await run<NewCode[]>(host, 'codes create', { amount: '12.5', count: 3 })
    const [first, second, third] = codes
    if (!first || !second || !third) throw new Error('three codes were made')
    t.match(await redeem(host, ann, first.code), {
      credited: '12.5',
      repeated: false,
      balance: '12.5',
    })
    t.match(
      await redeem(host, ann, first.code.toLowerCase()),
      { credited: '12.5', repeated: true, balance: '12.5' },
      'the same account, again: nothing changes',
    )
    await t.rejects(redeem(host, bob, first.code), { code: 'CODE_SPENT', status: 409 })
    await run(host, 'codes revoke', { code: second.id })
    await t.rejects(redeem(host, bob, second.code), { code: 'CODE_SPENT' })
    await t.rejects(run(host, 'codes revoke', { code: second.id }), { code: 'CODE_SPENT' })
    await t.rejects(run(host, 'codes revoke', { code: '0'.repeat(12) }), { code: 'CODE_UNKNOWN' })
    const states = (await run<CodeRow[]>(host, 'codes list', {})).map(({ id, state }) => [
      id,
      state,
    ])
    t.same(Object.fromEntries(states), {
      [first.id]: 'redeemed',
      [second.id]: 'revoked',
      [third.id]: 'open',
    })
    const races = Array.from({ length: 20 }, (_, index) =>
      redeem(host, index % 2 === 0 ? ann : bob, third.code).then(
        () => index % 2,
        error => error.code,
      ),
    )
    const winners = new Set((await Promise.all(races)).filter(each => typeof each === 'number'))
    t.equal(winners.size, 1, 'of two accounts one gets it')
    t.same(await audit(database), [], 'the books balance')
  })

  t.test(`codes on ${engine}: an expired one is worthless, guesses are limited`, async t => {
    const soon = new Date((await database.now()) + 60_000).toISOString()
    const [code] = await run<NewCode[]>(host, 'codes create', { amount: '1', expires: soon })
    const later = { ...database, now: async () => (await database.now()) + 61_000 }
    const lateHost = hostOver(Object.assign(Object.create(database), later))
    await t.rejects(redeem(lateHost, bob, code?.code ?? ''), { code: 'CODE_SPENT' })
    await t.rejects(run(host, 'codes create', { amount: '0' }), { code: 'ADMIN_AMOUNT' })
    const past = new Date((await database.now()) - 1).toISOString()
    await t.rejects(run(host, 'codes create', { amount: '1', expires: past }), {
      code: 'EXPIRES_PAST',
    })
    const guess = () => redeem(host, bob, makeCode()).catch(error => error.code as string)
    const guesses = await Promise.all(Array.from({ length: 40 }, guess))
    t.equal(guesses.filter(each => each === 'CODE_UNKNOWN').length, 30)
    t.equal(guesses.filter(each => each === 'CODES_GUESSED').length, 10)
    await t.rejects(redeem(host, bob, code?.code ?? ''), { code: 'CODES_GUESSED', status: 429 })
  })

  t.test(`payments on ${engine}: are credited once by their reference`, async t => {
    const pay = (account: string, amount: string, reference = 'cs_1') =>
      run<object>(host, 'credits create', { account, amount, reference })
    const results = await Promise.all(Array.from({ length: 10 }, () => pay('bob', '5')))
    t.equal(results.filter(each => (each as { repeated: boolean }).repeated).length, 9)
    await t.rejects(pay('bob', '6'), { code: 'PAYMENT_DIFFERS', status: 409 })
    await t.rejects(pay('ann', '5'), { code: 'PAYMENT_DIFFERS' })
    await t.rejects(pay('bob', '0', 'cs_2'), { code: 'ADMIN_AMOUNT' })
    await t.rejects(pay('nobody', '5', 'cs_3'), { code: 'ACCOUNT_UNKNOWN' })
    t.match(await pay('bob', '2', 'cs_2'), { repeated: false })
    t.same(await audit(database), [])
  })

  t.test(`credits on ${engine}: an account has its own, latest first, in pages`, async t => {
    const list = async (args: object, own?: number) => {
      const actor = OPERATOR
      const caller = { host, actor, ...(own !== undefined && { own }) }
      const { data, next } = await runOperation(operationNamed('credits list'), { ...args }, caller)
      return { rows: data as CreditRow[], next }
    }
    const { rows } = await list({ account: 'ann' })
    t.match(rows.at(-1), { kind: 'credit', amount: '12.5', request: null, note: /^code / })
    const ids = rows.map(({ id }) => id)
    t.same(
      ids,
      [...ids].sort((one, other) => other - one),
    )
    const first = await list({ account: 'bob', limit: 1 })
    t.match(first.rows, [{ amount: '2', note: 'cs_2' }])
    const second = await list({ account: 'bob', limit: 1, cursor: Number(first.next) })
    t.match(second.rows, [{ amount: '5', note: 'cs_1' }])
    t.same((await list({ account: 'bob' }, ann)).rows, rows, 'a customer gets nothing of another')
    await t.rejects(list({ account: 'nobody' }), { code: 'ACCOUNT_UNKNOWN' })
    t.same(await run(host, 'accounts usage', { account: 'ann', days: 7 }), [])
    await t.rejects(run(host, 'accounts usage', { account: 'nobody' }), { code: 'ACCOUNT_UNKNOWN' })
  })
}
