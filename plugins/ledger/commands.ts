/** `tollgate audit` and `tollgate quote`. */
import { readFileSync } from 'node:fs'
import type { Command, Json, Lent } from '../../engine/plugin.ts'
import { askedOf, factsOf } from '../billing/asked.ts'
import { formula } from '../billing/formula.ts'
import { printMoney } from '../billing/money.ts'
import { quote } from '../billing/worst.ts'
import { audit } from './audit.ts'
import { Prices } from './prices.ts'

/** The key in `models:` that answers to a name. */
export type FindModel = (name: string, host: Lent) => string | undefined

const print = (json: boolean, value: unknown, text: string): void =>
  void process.stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : text)
const refuse = (code: number, sentence: string): number => {
  process.stderr.write(`${sentence}\n`)
  return code
}

export const auditCommand: Command = {
  summary: 'ledger: whether the books balance',
  example: 'tollgate audit ledger',
  async run({ values, positionals }, { database }) {
    if (positionals.join(' ') !== 'ledger') return refuse(2, 'It is: tollgate audit ledger')
    const findings = await audit(database)
    const lines = findings.map(({ rule, subject, detail }) => `${rule}: ${subject}: ${detail}\n`)
    const text = findings.length === 0 ? 'the books balance\n' : lines.join('')
    print(values.json === true, { balanced: findings.length === 0, findings }, text)
    return findings.length === 0 ? 0 : 1
  },
}

export const quoteCommand = (find: FindModel): Command => ({
  summary: 'METHOD PATH --body FILE: the most a call can cost, and how that comes about',
  example: 'tollgate quote POST /v1/chat/completions --body request.json',
  options: { body: { type: 'string', summary: 'the file with the request' } },
  async run({ values, positionals }, host) {
    const [method, path, ...more] = positionals
    if (!method || !path || more.length > 0 || typeof values.body !== 'string')
      return refuse(2, 'It is: tollgate quote METHOD PATH --body FILE')
    const read = bodyIn(values.body)
    if (typeof read === 'string') return refuse(1, read)
    const name = modelIn(read.body, path)
    const entry = name === undefined ? undefined : find(name, host)
    if (name === undefined || entry === undefined)
      return refuse(1, `no model answers to "${name ?? 'nothing'}"`)
    const prices = new Prices({
      models: host.section('models'),
      settings: host.section('settings'),
    })
    const price = prices.of(entry)
    if (!price) return refuse(1, `the model ${name} has no price`)
    const { bounds } = askedOf(read.body, read.size, price)
    const { nanos, lines, unbounded, unpriced } = quote(
      price.rule,
      bounds,
      factsOf(read.body, Date.now()),
    )
    const lacking = [...unpriced, ...unbounded]
    const { name: currency } = prices.currency
    const said = {
      model: entry,
      most: printMoney(nanos),
      currency,
      formula: formula(lines),
      lacking,
    }
    const lacks = lacking.length > 0 ? `without a price or a bound: ${lacking.join(', ')}\n` : ''
    print(values.json === true, said, `${said.most} ${currency} at most: ${said.formula}\n${lacks}`)
    return lacking.length > 0 ? 1 : 0
  },
})

const bodyIn = (file: string): { readonly body: Json; readonly size: number } | string => {
  try {
    const bytes = readFileSync(file)
    return { body: JSON.parse(bytes.toString()) as Json, size: bytes.length }
  } catch (thrown) {
    return `cannot read ${file}: ${thrown instanceof Error ? thrown.message : String(thrown)}`
  }
}
/** In the body, or in the path as Google's clients write it. */
const modelIn = (body: Json, path: string): string | undefined => {
  const named = (body as { readonly model?: Json } | null)?.model
  return typeof named === 'string' ? named : /\/models\/([^/:]+)/.exec(path)?.[1]
}
