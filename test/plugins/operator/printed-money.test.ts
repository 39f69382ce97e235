/** Every command prints the currency beside each amount: in the head of the column, or behind it.
 *  Results are made from the schemas of the operations, so that a new amount is met, too. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ArrayExpressionElement, parseSync, Visitor } from 'oxc-parser'
import t from 'tap'
import { printedOf } from '../../../plugins/operator/command-line.ts'
import { moneyMembers, withCurrency } from '../../../plugins/operator/printed-money.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'

type Schema = Readonly<Record<string, unknown>>
/** Amounts in texts that may also count tokens. */
const IN_UNITS = /^(?:amount|used|remaining|renews|price|paid)$/
const AMOUNT = /8\d{5}\.25\b/g

/** A value of this schema, the first of several forms, with an amount of its own wherever one may
 *  be. */
const sampleOf = (schema: unknown) => {
  let count = 0
  const make = (part: Schema, name: string, isMoney: boolean): unknown => {
    const { anyOf, enum: words, const: only, type, items, properties } = part
    if (only !== undefined) return only
    if (Array.isArray(words)) return words[0]
    if (Array.isArray(anyOf)) return make(anyOf[0], name, isMoney || part.description === UNITS)
    if (type === 'string')
      return isMoney || part.description === UNITS || IN_UNITS.test(name)
        ? `${800_000 + count++}.25`
        : 'word'
    if (type === 'integer' || type === 'number') return 3
    if (type === 'boolean') return true
    if (type === 'array') return [make(items as Schema, name, isMoney)]
    if (type === 'object' && properties)
      return Object.fromEntries(
        Object.entries(properties).map(([member, each]) => [member, make(each, member, false)]),
      )
    return type === 'null' ? null : {}
  }
  return make(schema as Schema, '', false)
}
const UNITS = 'Units of the currency.'

/** Amounts of a printed result without their currency. */
const bareAmounts = ({ rows = [], text }: ReturnType<typeof printedOf>): readonly string[] => {
  const bare = (cell: string, head = ''): readonly string[] =>
    [...cell.matchAll(AMOUNT)]
      .filter(({ 0: amount, index }) => {
        const isNamed = /\(CNY\)$/.test(head) || cell.startsWith(' CNY', index + amount.length)
        return !isNamed
      })
      .map(([amount]) => `${head}: ${amount}`)
  if (text !== undefined) return bare(text)
  return rows.flatMap(row =>
    Object.entries(row).flatMap(([head, cell]) => bare(String(cell ?? ''), head)),
  )
}

t.test('amounts of commands: have their currency', async t => {
  let amounts = 0
  for (const operation of OPERATIONS) {
    if (!operation.command) continue
    const printed = printedOf(operation, sampleOf(operation.result), 'CNY')
    t.same(bareAmounts(printed), [], operation.name)
    const { json = printed.rows } = printed
    t.notMatch(JSON.stringify(json ?? null), /CNY/, `${operation.name}: JSON is unchanged`)
    amounts += JSON.stringify(printed.rows ?? printed.text ?? '').match(AMOUNT)?.length ?? 0
  }
  t.ok(amounts > 40, `${amounts} amounts`)
})

/** Commands without an operation, whose own tests look for the currency, or why none is there. */
const OTHERS: Readonly<Record<string, string>> = {
  usage: 'withCurrency',
  logs: 'the head of the column',
  request: 'behind each amount',
  quote: 'names it in its text',
  'archive verify': 'behind each sum',
  'export ledger': 'a column',
  'export accounts': 'a file that `apply` reads, in the currency',
  'journal show': 'a record as it was stored',
  models: 'prices with their currency',
  'prices diff': 'prices with their currency',
  test: 'charges of cases in a file, in the currency',
}
/** Commands that print no amounts. */
const WITHOUT =
  /^(?:start|check|explain|schema|reload|rollback|status|backup|routes|plugin|version|completion|diff|doctor|import|init|lint|move|restore|apply|keys import|files|replay|archive create|audit|upstreams)\b/

t.test('amounts of commands: every command is an operation, or listed here', async t => {
  const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
  const headings = [...page.matchAll(/^(##|###) (.+)$/gm)].map(([, level, name = '']) => ({
    isGroup: level === '##',
    name,
  }))
  // A group of commands is not one itself.
  const names = headings
    .filter(({ isGroup }, at) => !isGroup || headings[at + 1]?.isGroup !== false)
    .map(({ name }) => name)
  t.ok(names.length > 90)
  const operations = new Set(OPERATIONS.flatMap(({ name, command }) => (command ? [name] : [])))
  const unknown = names.filter(
    name => !operations.has(name) && !(name in OTHERS) && !WITHOUT.test(name),
  )
  t.same(unknown, [])
})

/** Texts that their callers complete. */
const NAMED_BY_CALLERS: Readonly<Record<string, string>> = {
  'billing/formula.ts': 'a formula, which has its currency behind it',
}
const PLUGINS = fileURLToPath(new URL('../../../plugins', import.meta.url))
const PRINTERS: readonly string[] = ['printMoney', 'roundMoney']
const isAmount = (node: ArrayExpressionElement): boolean =>
  node?.type === 'CallExpression' &&
  node.callee.type === 'Identifier' &&
  PRINTERS.includes(node.callee.name)
/** Amounts in texts of a source without their currency: in a template, in front of something else
 *  than the currency; or as a value of an error's text. */
const bareTexts = (source: string): readonly string[] => {
  const bare: string[] = []
  const textOf = ({ start, end }: { readonly start: number; readonly end: number }) =>
    source.slice(start, end)
  new Visitor({
    TemplateLiteral(node) {
      for (const [at, each] of node.expressions.entries()) {
        const next = node.expressions[at + 1]
        const isNamed =
          node.quasis[at + 1]?.value.raw === ' ' && next && /currency$/i.test(textOf(next))
        if (isAmount(each) && !isNamed) bare.push(textOf(node))
      }
    },
    CallExpression(node) {
      if (node.callee.type !== 'Identifier' || !/fault$/i.test(node.callee.name)) return
      for (const values of node.arguments)
        if (values.type === 'ArrayExpression' && values.elements.some(isAmount))
          bare.push(textOf(node))
    },
  }).visit(parseSync('source.ts', source).program)
  return bare
}

t.test('amounts in texts and errors: have their currency', async t => {
  const files = globSync('**/*.ts', { cwd: PLUGINS }).filter(
    file => !file.includes('client/') && !(file in NAMED_BY_CALLERS),
  )
  for (const file of files) t.same(bareTexts(readFileSync(join(PLUGINS, file), 'utf8')), [], file)
  t.same(
    bareTexts(
      "throw fault('A', [name, printMoney(a)]); const b = `${printMoney(b)} of it, ${roundMoney(c)} ${currency}`",
    ).length,
    2,
    'both forms are noticed',
  )
})

t.test('actions list: prints no amounts of what was changed', async t => {
  const operation = OPERATIONS.find(({ name }) => name === 'actions list')
  if (!operation) throw new Error('there is no such operation')
  const amounts = { balance: '800000.25', credited: '800001.25' }
  const [action] = sampleOf(operation.result) as readonly object[]
  const { rows, json } = printedOf(
    operation,
    [{ ...action, before: amounts, after: amounts }],
    'CNY',
  )
  t.equal(rows?.length, 1)
  t.notMatch(JSON.stringify(rows), AMOUNT)
  t.match(JSON.stringify(json), '800001.25')
})

t.test('amounts of rows: a cell with a unit keeps the head of its column', async t => {
  const names = new Set(['cost', 'amount'])
  const rows = [{ name: 'a', cost: '1.5', amount: '5 CNY' }]
  t.same(withCurrency({ rows }, names, 'CNY'), {
    rows: [{ name: 'a', 'cost (CNY)': '1.5', amount: '5 CNY' }],
    json: rows,
  })
  t.same(withCurrency({ text: 'x' }, names, 'CNY'), { text: 'x' })
  const schema = {
    properties: { list: { items: { properties: { cost: { description: UNITS } } } } },
  }
  t.same([...moneyMembers(schema)], ['cost'])
})
