/** The JSON Schema of prices: every key has a description and examples, and the catalogue fits
 *  it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { schemasOf } from '../../../engine/config/shape.ts'
import { CURRENCY } from '../../../plugins/billing/currency.ts'
import type { BillingOptions } from '../../../plugins/billing/schema.ts'
import { BILLING, FREE, MAX_CALLS, PRICE } from '../../../plugins/billing/schema.ts'
import { problemsOf } from '../../helpers/money/billing.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ajv = new Ajv({ allErrors: true, strictTypes: false, strictTuples: false })
const fits = ajv.compile(BILLING.schema)
const examplesOf = ({ schema }: { readonly schema: object }) =>
  (schema as { readonly examples: readonly BillingOptions[] }).examples
const COMBINED = ['properties', 'additionalProperties', 'items']

const isSchema = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

t.test('price schema: every key has a description and valid examples', async t => {
  const visit = (schema: Record<string, unknown>, path: string): void => {
    if (typeof schema.description === 'string') {
      t.match(schema.description, /\.$/, `${path}: a sentence`)
      const examples = (schema.examples ?? []) as readonly unknown[]
      t.ok(examples.length > 0, `${path}: examples`)
      for (const each of examples) t.ok(ajv.validate(schema, each), `${path}: ${String(each)}`)
    } else if (!path.endsWith('properties')) t.fail(`${path}: no description`)
    for (const [key, inner] of Object.entries(schema))
      if ((COMBINED.includes(key) || path.endsWith('.properties')) && isSchema(inner))
        visit(inner, `${path}.${key}`)
  }
  visit(BILLING.schema, 'billing')
  t.same(BILLING.schema.properties, schemasOf({ price: PRICE, free: FREE, max_calls: MAX_CALLS }))
  visit(CURRENCY.schema, 'currency')
})

t.test('price schema: its examples compile', async t => {
  for (const each of examplesOf(PRICE))
    t.same(problemsOf({ price: each }), [], JSON.stringify(each))
  for (const each of examplesOf(MAX_CALLS)) t.same(problemsOf({ free: true, max_calls: each }), [])
  for (const each of examplesOf(BILLING)) t.same(problemsOf(each), [])
})

t.test('price schema: refuses options of the wrong shape', async t => {
  for (const options of [
    '{}',
    'price: 2',
    'price: {}',
    'price: []',
    'price: { ouput: 1 }',
    'price: { input: true }',
    'price: { input: -1 }',
    'price: { input: {} }',
    'price: { input: { price: 1, pre: 1M } }',
    'price: { input: { price: 1, when: {} } }',
    'price: { input: { price: 1, by: [a, b, c, d] } }',
    'price: { input: { price: 1, by: Size } }',
    'price: { input: { price: 1, per: 0 } }',
    'price: [{ price: 1 }]',
    'price: [{ meter: input }]',
    'price: [{ min: 1, meter: input }]',
    'price: [{ meter: inputs, price: 1 }]',
    'free: 1',
    'max_calls: { web_search: -1 }',
    'max_calls: { searches: 1 }',
    '{ price: { input: 1 }, discount: 1 }',
  ])
    t.notOk(fits(parse(options)), options)
})

t.test('shipped catalogue: every price fits the schema and compiles', async t => {
  const files = globSync('models/*.yaml', { cwd: ROOT })
  const models = files.flatMap(file =>
    Object.entries<{ price?: object; free?: boolean; max_calls?: object }>(
      parse(readFileSync(join(ROOT, file), 'utf8')).models ?? {},
    ),
  )
  t.ok(models.length > 10)
  for (const [name, { price, free, max_calls }] of models) {
    const options = {
      ...(price && { price }),
      ...(free && { free }),
      ...(max_calls && { max_calls }),
    }
    t.same(problemsOf(options), [], name)
    t.ok(fits(options), name)
  }
})
