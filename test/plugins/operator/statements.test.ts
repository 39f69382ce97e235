/** Statements on both stores: opening and closing balance, lines and credits add up to the nano,
 *  month by month; their texts are safe to open. */
import t from 'tap'
import { addMember } from '../../../plugins/credentials/members.ts'
import { singleRowCharge } from '../../../plugins/ledger/single-row-charge.ts'
import { walletOf, walletsOf } from '../../../plugins/ledger/wallet.ts'
import { argumentsIn, type Schema } from '../../../plugins/operator/http-arguments.ts'
import { statementText } from '../../../plugins/operator/operations/statement-texts.ts'
import type { AccountStatement } from '../../../plugins/views.ts'
import { csvRows } from '../../../program/commands/new-api/source.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { payerOf } from '../../helpers/money/ledger.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { ledgerOn, makeLedger } from '../../helpers/store/membership.ts'
import { operationNamed, runAs } from '../../helpers/store/operations.ts'
import { sql, startBoth } from '../../helpers/store/store.ts'

const UNIT = 1_000_000_000n
const BALANCE = sql('balance', 'SELECT balance FROM wallets WHERE id = ?')
/** Nanos of a decimal text. */
const nanos = (text: string): bigint => {
  const [, sign, whole, part = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  const value = BigInt(`${whole}${part.padEnd(9, '0')}`)
  return sign === '-' ? -value : value
}

/** Columns that FOCUS 1.2 requires of every data set: focus.finops.org/focus-specification/v1-2. */
const MANDATORY = new Set([
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ServiceCategory',
  'ServiceName',
])
/** Conditional or recommended columns of it. */
const CONDITIONAL = new Set([
  'ChargeFrequency',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ResourceId',
  'SkuId',
])

type FocusRow = Readonly<Record<string, string>>
const isDecimal = (value: string): boolean => /^-?\d+(?:\.\d+)?$/.test(value)
/** Of a moment, without fractions of a second, in UTC. */
const isInstant = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) && !Number.isNaN(Date.parse(value))
const isOf =
  (...values: readonly string[]) =>
  (value: string): boolean =>
    values.includes(value)
const isText = (value: string): boolean => value !== ''
const isNull = (value: string): boolean => value === ''
/** Units of the recommended names, in plural. */
const isUnit = isOf('Requests', 'Tokens', 'Units', 'Counts')
/** The values of each column in a row of usage that corrects nothing: the attributes Date/Time,
 *  Numeric, Currency and Unit Format, null handling and allowed values of the specification. */
const RULES: Readonly<Record<string, (value: string, row: FocusRow) => boolean>> = {
  BilledCost: isDecimal,
  BillingAccountId: isText,
  BillingAccountName: isText,
  BillingCurrency: value => /^[A-Z]{3}$/.test(value),
  BillingPeriodStart: isInstant,
  BillingPeriodEnd: (value, { BillingPeriodStart: start = '' }) =>
    isInstant(value) && value > start,
  ChargePeriodStart: (value, { BillingPeriodStart: start = '' }) =>
    isInstant(value) && value >= start,
  ChargePeriodEnd: (value, { ChargePeriodStart: start = '', BillingPeriodEnd: end = '' }) =>
    isInstant(value) && value > start && value <= end,
  ChargeCategory: isOf('Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'),
  ChargeClass: isNull,
  ChargeDescription: isText,
  ChargeFrequency: isOf('One-Time', 'Recurring', 'Usage-Based'),
  ConsumedQuantity: value => isDecimal(value) && Number(value) > 0,
  ConsumedUnit: isUnit,
  ContractedCost: isDecimal,
  EffectiveCost: isDecimal,
  InvoiceIssuerName: isText,
  ListCost: isDecimal,
  PricingQuantity: isDecimal,
  PricingUnit: isUnit,
  ProviderName: isText,
  PublisherName: isText,
  ResourceId: () => true,
  ServiceCategory: isOf('AI and Machine Learning'),
  ServiceName: isText,
  SkuId: isText,
}
const focusRows = (text: string): readonly FocusRow[] =>
  csvRows(text).map(row =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? '')])),
  )
const focusProblems = (text: string): readonly string[] =>
  focusRows(text).flatMap(row =>
    Object.entries(row).flatMap(([name, value]) =>
      RULES[name]?.(value, row) ? [] : [`${name}: "${value}"`],
    ),
  )

for (const { engine, database } of await startBoth(t, []))
  t.test(`statements on ${engine}: months add up to the balance`, async t => {
    const { account } = await openAccountsIn(database)
    await makeLedger(database)
    const ledger = ledgerOn(database)
    t.teardown(() => ledger.close())
    const ann = await account('ann')
    const evil = await account('=cmd')
    const added = await database.write(addMember(ann, { name: 'm<i>a', role: 'member' }, 1))
    const mia = Number(added.at(-1)?.[0]?.id)
    const chance = createChance()
    const process = await ledger.process()
    await giveCredit(database, ann, 1_000n * UNIT, Date.UTC(2028, 0, 31, 23, 59, 59, 999))
    await giveCredit(database, ann, 7n, Date.UTC(2028, 1, 1))
    await giveCredit(database, evil, 5n * UNIT, Date.UTC(2028, 1, 10))
    for (let count = 0; count < 60; count++) {
      const openedAt = Date.UTC(2028, 0, 20) + Math.floor(chance() * 60) * 86_400_000
      const amount = BigInt(Math.floor(chance() * 1e10))
      const hold = {
        request: `r${count}`,
        account: ann,
        key: undefined,
        ...(count % 5 === 0 && { member: mia }),
        holdsKeyQuota: false,
        heldAmount: amount,
        process,
        route: 'chat',
        model: count % 3 === 0 ? '<b>' : 'm',
        version: 1,
        rule: '',
        openedAt,
      }
      const tags = count % 2 === 0 ? { project: 'alpha', feature: `f${count % 4}` } : undefined
      const settlement = {
        served: JSON.stringify({ upstream: 'u', ...(tags && { tags }) }),
        amount,
        uncollected: 0n,
        isEstimated: false,
        usage: '{}',
        lines: '[]',
        closedAt: openedAt + 5,
        wallets: walletsOf(ann, undefined),
      }
      await ledger.take(payerOf(ann), amount)
      await database.write(
        singleRowCharge(hold, settlement, { input: 10, cached: 5, output: 3, thinking: 4 }),
      )
    }
    const host = hostOver(database)
    const actor = { via: 'admin API', name: 'root', account: 1 } as const
    const show = (args: object, own?: number) =>
      runAs<AccountStatement[]>({ host, actor, own }, 'statements show', args)
    let closing = '0'
    for (const period of ['2028-01', '2028-02', '2028-03', '2028-04']) {
      const [statement] = await show({ account: 'ann', period })
      if (!statement) throw new Error(period)
      t.equal(statement.opening, closing, `${period} begins where the month before ended`)
      const lines = statement.lines.reduce((sum, { amount }) => sum + nanos(amount), 0n)
      t.equal(lines, nanos(statement.charged))
      t.equal(
        nanos(statement.closing),
        nanos(statement.opening) + nanos(statement.credited) + nanos(statement.refunded) - lines,
      )
      closing = statement.closing
    }
    const [{ balance = 0 } = {}] = await database.read(BALANCE, [walletOf.account(ann)])
    t.equal(nanos(closing), BigInt(balance as number), 'the last one ends at the balance')
    const [february] = await show({ account: 'ann', period: '2028-02' })
    t.match(february, { from: '2028-02-01', to: '2028-03-01', credited: '0.000000007' })
    for (const { calls, ...line } of february?.lines ?? [])
      t.match(
        line,
        { input_tokens: calls * 15, cached_tokens: calls * 5, output_tokens: calls * 7 },
        'thinking is a part of the output',
      )
    const sumOf = (tag: string) => february?.tags.find(each => each.tag === tag)
    t.match(february?.tags.map(({ tag }) => tag).toSorted(), [
      'feature=f0',
      'feature=f2',
      'project=alpha',
    ])
    t.equal(february?.tags[0]?.tag, 'project=alpha', 'the most costly one comes first')
    t.equal(
      nanos(sumOf('project=alpha')?.amount ?? ''),
      nanos(sumOf('feature=f0')?.amount ?? '') + nanos(sumOf('feature=f2')?.amount ?? ''),
      'each call with the tag of its project has one of its feature',
    )
    t.ok(nanos(sumOf('project=alpha')?.amount ?? '') < nanos(february?.charged ?? ''))
    const days = ['2028-02-01..2028-02-29', '2028-02-29'].map(async period => {
      const [part] = await show({ account: 'ann', period })
      return nanos(part?.charged ?? '0')
    })
    const [before = 0n, last = 0n] = await Promise.all(days)
    t.equal(before + last, nanos(february?.charged ?? '0'), 'a leap day is a day')

    const all = await show({ period: '2028-02' })
    t.same(all.map(({ account }) => account).toSorted(), ['=cmd', 'ann'])
    t.same(
      (await show({ period: '2028-02' }, evil)).map(({ account }) => account),
      ['=cmd'],
    )
    t.same(
      (await show({ period: '2028-02', account: 'ann' }, evil)).map(({ account }) => account),
      ['=cmd'],
      'a customer gets nothing of another',
    )
    const [csv] = await show({ account: '=cmd', period: '2028-02', format: 'csv' })
    t.match(csv?.text, /^account,kind,day,.*\r\n'=cmd,opening balance,2028-02-01,/)
    const [sheet] = await show({ account: 'ann', period: '2028-02', format: 'csv' })
    const amounts = (sheet?.text ?? '')
      .trim()
      .split('\r\n')
      .slice(1)
      .map(row => row.split(',')[12] ?? '')
    t.match(sheet?.text, /^account,kind,day,key,member,member_name,model,/)
    t.match(sheet?.text, new RegExp(`\\r\\nann,charge,2028-02-\\d\\d,,${mia},m<i>a,`))
    const byMia = february?.lines.filter(({ member }) => member === mia) ?? []
    t.ok(byMia.length > 0)
    t.ok(byMia.every(({ member_name: name }) => name === 'm<i>a'))
    t.ok(february?.lines.some(({ member, member_name: name }) => member === null && name === null))
    const sum = amounts.slice(0, -1).reduce((total, each) => total + nanos(each), 0n)
    t.equal(sum, nanos(amounts.at(-1) ?? ''), 'the rows add up to the last one')
    const [page] = await show({ account: 'ann', period: '2028-02', format: 'html' })
    t.match(page?.text, /^<!doctype html>/)
    t.match(page?.text, /<td>project=alpha<\/td>/)
    t.match(page?.text, /<td>2028-02-\d\d<\/td><td>[^<]*<\/td><td><\/td><td>m&#60;i&#62;a<\/td>/)
    t.notMatch(page?.text, '<td><b>', 'names are escaped')
    const [focus] = await show({ account: 'ann', period: '2028-02', format: 'focus' })
    const columns = focus?.text?.split('\r\n')[0]?.split(',') ?? []
    t.same(MANDATORY.difference(new Set(columns)), new Set(), 'the mandatory columns')
    t.same(new Set(columns).difference(MANDATORY), CONDITIONAL, 'the others')
    t.equal(focus?.text?.trim().split('\r\n').length, (february?.lines.length ?? 0) + 1)
    t.same(focusProblems(focus?.text ?? ''), [])
    for (const period of [
      '2028-13',
      '2028-02-30',
      '2028-02-01..2028-02-30',
      'now',
      '',
      '2028-02-03..2028-02-01',
      '2028',
    ])
      await t.rejects(
        show({ account: 'ann', period }),
        { code: 'ADMIN_QUERY', status: 400 },
        period,
      )
  })

t.test('statements: FOCUS has refunds in the cost, and no rows without usage', t => {
  const counts = { calls: 2, input_tokens: 9, cached_tokens: 0, output_tokens: 3 }
  const line = { day: '2028-02-29', key: 7, member: null, member_name: null, model: 'm', failed: 0 }
  const money = { opening: '0', credited: '0', debited: '0', refunded: '0' }
  const statement: AccountStatement = {
    account: 'ann',
    number: 2,
    currency: 'CNY',
    from: '2028-02-01',
    to: '2028-03-01',
    ...money,
    charged: '1',
    planned: '0',
    closing: '-1',
    pending: 0,
    tags: [],
    lines: [
      { ...line, ...counts, amount: '1', refunded: '0.000000001' },
      { ...line, ...counts, calls: 0, failed: 3, amount: '0', refunded: '0' },
    ],
  }
  const text = statementText('focus', statement, true)
  t.match(focusRows(text), [
    { BilledCost: '0.999999999', EffectiveCost: '0.999999999', ListCost: '1', ResourceId: 'key 7' },
  ])
  t.equal(focusRows(text).length, 1)
  t.same(focusProblems(text), [])
  t.match(focusRows(text)[0], {
    ChargePeriodStart: '2028-02-29T00:00:00Z',
    ChargePeriodEnd: '2028-03-01T00:00:00Z',
  })
  t.end()
})

t.test('statements: two forms at once and a missing period are refused', t => {
  const { command, arguments: shape } = operationNamed('statements show')
  const read = (values: Readonly<Record<string, boolean>>) =>
    command?.read?.({ positionals: ['2028-02'], values, host: hostOver({} as never) })
  t.match(read({ html: true }), { period: '2028-02', format: 'html' })
  t.throws(() => read({ csv: true, html: true }), /use either --csv or --html/)
  t.throws(() => read({ html: true, focus: true }), /use either --html or --focus/)
  const schema = shape.schema as Schema
  t.throws(() => argumentsIn(new URLSearchParams(), schema, 'statements', fakeHost()), {
    message: /^Invalid `period`: expected a month /,
  })
  t.end()
})
