/** A statement as a text: CSV, a page to print, and CSV in the columns of FOCUS 1.2 (FinOps Open
 *  Cost and Usage Specification). */
import { parseDecimal, printDecimal } from '../../billing/decimal.ts'
import { TOKEN_COLUMNS } from '../../billing/tokens.ts'
import { csvHead, csvRows } from '../../ledger/views/csv.ts'
import { STATEMENT_SUMS } from '../../ledger/views/statement-sums.ts'
import type { AccountStatement, StatementCountsRow } from '../../views.ts'

export const FORMATS = ['csv', 'html', 'focus'] as const
type Format = (typeof FORMATS)[number]

const CSV_COLUMNS = [
  'account',
  'kind',
  'day',
  'key',
  'member',
  'member_name',
  'model',
  'calls',
  'failed',
  ...TOKEN_COLUMNS,
  'amount',
  'currency',
] as const
const minus = (amount: string): string => {
  if (amount === '0') return amount
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/** Amounts of an account add up to its closing balance, but for the last row, which is that. */
const csv = (statement: AccountStatement, hasHead: boolean): string => {
  const { account, currency, from, to, lines } = statement
  const entry = (kind: string, day: string, amount: string) => ({
    account,
    kind,
    day,
    amount,
    currency,
  })
  const rows = [
    entry('opening balance', from, statement.opening),
    ...(['credited', 'debited', 'refunded'] as const)
      .filter(kind => statement[kind] !== '0')
      .map(kind => entry(kind, to, statement[kind])),
    ...lines.map(({ refunded: _, ...line }) => ({
      account,
      kind: 'charge',
      ...line,
      amount: minus(line.amount),
      currency,
    })),
    ...(statement.planned === '0' ? [] : [entry('paid by plan', to, statement.planned)]),
    entry('closing balance', to, statement.closing),
  ]
  return (hasHead ? csvHead(CSV_COLUMNS, currency) : '') + csvRows(CSV_COLUMNS, rows)
}

const FOCUS_COLUMNS = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ResourceId',
  'ServiceCategory',
  'ServiceName',
  'SkuId',
] as const
/** The form of FOCUS has no fractions of a second. */
const instantOf = (day: string, after = 0): string =>
  `${new Date(Date.parse(day) + after).toISOString().slice(0, 19)}Z`
/** Usage has a quantity above zero: failed calls cost nothing. */
const isUsage = ({ calls }: StatementCountsRow): boolean => calls > 0
/** Sums of a day have no largest amount. */
const NANOS = { places: 9, most: 10n ** 30n }
const less = (amount: string, refunded: string): string =>
  printDecimal(parseDecimal(amount, NANOS) - parseDecimal(refunded, NANOS), NANOS.places)
const focus = (statement: AccountStatement, hasHead: boolean): string => {
  const { account, number, currency, from, to, lines } = statement
  const rows = lines.filter(isUsage).map(({ day, key, model, calls, amount, refunded }) => ({
    BilledCost: less(amount, refunded),
    BillingAccountId: String(number),
    BillingAccountName: account,
    BillingCurrency: currency,
    BillingPeriodStart: instantOf(from),
    BillingPeriodEnd: instantOf(to),
    ChargePeriodStart: instantOf(day),
    ChargePeriodEnd: instantOf(day, 86_400_000),
    ChargeCategory: 'Usage',
    ChargeDescription: `Calls of ${model}`,
    ChargeFrequency: 'Usage-Based',
    ConsumedQuantity: calls,
    ConsumedUnit: 'Requests',
    ContractedCost: amount,
    EffectiveCost: less(amount, refunded),
    InvoiceIssuerName: 'Tollgate',
    ListCost: amount,
    PricingQuantity: calls,
    PricingUnit: 'Requests',
    ProviderName: 'Tollgate',
    PublisherName: 'Tollgate',
    ResourceId: key === null ? null : `key ${key}`,
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: model,
    SkuId: model,
  }))
  return (hasHead ? `${FOCUS_COLUMNS.join(',')}\r\n` : '') + csvRows(FOCUS_COLUMNS, rows)
}

const escapeHtml = (text: string | number): string =>
  String(text).replace(/[&<>"']/g, each => `&#${each.charCodeAt(0)};`)
const STYLE =
  'body{font:14px/1.4 sans-serif;margin:2em}table{border-collapse:collapse;width:100%}' +
  'td,th{border-bottom:1px solid #ccc;padding:.3em .6em;text-align:right}' +
  'td:nth-child(-n+4),th:nth-child(-n+4){text-align:left}section{break-after:page}'
const cells = (tag: 'td' | 'th', values: readonly (string | number)[]): string =>
  `<tr>${values.map(value => `<${tag}>${escapeHtml(value)}</${tag}>`).join('')}</tr>`
const TOKEN_TITLES = TOKEN_COLUMNS.map(name => name.replace('_', ' '))
const html = (statement: AccountStatement, hasHead: boolean): string => {
  const { account, currency, from, to, lines, tags } = statement
  const sums = STATEMENT_SUMS.map(name =>
    cells('td', [name, '', '', '', `${statement[name]} ${currency}`]),
  )
  const row = (first: readonly string[], line: StatementCountsRow) =>
    cells('td', [
      ...first,
      line.calls,
      ...TOKEN_COLUMNS.map(name => line[name]),
      `${line.amount} ${currency}`,
    ])
  const body = lines.map(line =>
    row(
      [line.day, line.model, line.key === null ? '' : `key ${line.key}`, line.member_name ?? ''],
      line,
    ),
  )
  // A call with two tags counts for both, so these rows do not add up to the sum.
  const ofTags = tags.map(line => row([line.tag, '', '', ''], line))
  const counts = ['calls', ...TOKEN_TITLES, 'amount']
  const head = hasHead
    ? `<!doctype html><meta charset="utf-8"><title>Statements</title><style>${STYLE}</style>\n`
    : ''
  return (
    `${head}<section><h1>${escapeHtml(account)}</h1><p>${from} to ${to} (not included), UTC</p>` +
    `<table>${sums.join('')}</table>\n<table>` +
    cells('th', ['day', 'model', 'key', 'member', ...counts]) +
    `${body.join('')}</table>\n` +
    (ofTags.length === 0
      ? ''
      : `<table>${cells('th', ['tag', '', '', '', ...counts])}${ofTags.join('')}</table>\n`) +
    '</section>\n'
  )
}

const TEXTS: Readonly<Record<Format, (statement: AccountStatement, hasHead: boolean) => string>> = {
  csv,
  html,
  focus,
}
/** `hasHead`: with the part that precedes all statements. */
export const statementText = (
  format: Format,
  statement: AccountStatement,
  hasHead: boolean,
): string => TEXTS[format](statement, hasHead)
