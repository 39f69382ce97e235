/** The fields of the console's dialogs: what they show of a row, and what they send. */
import t from 'tap'
import { argumentsOf, draftOf, fieldIn } from '../../../plugins/console/client/operation-fields.ts'

const FIELDS = [
  'name=text',
  'models?=names',
  'quota?=number',
  'quota_period?=day|month',
  'expires?=text',
  'limits.requests?=text',
  'limits.concurrency?=number',
].map(fieldIn)
const ROW = {
  name: 'laptop',
  models: ['a', 'b'],
  quota: 1_000,
  quota_period: 'month',
  expires: '2999-01-31T23:59:59.000Z',
  limits: { requests: '60/min', tokens: '5/min' },
}
const DRAFT = {
  name: 'laptop',
  models: 'a, b',
  quota: '0.002',
  quota_period: 'month',
  expires: '2999-01-31',
  'limits.requests': '60/min',
  'limits.concurrency': '',
}

t.test('draft: shows each member of a row as a text', async t => {
  t.same(draftOf(FIELDS, ROW), DRAFT)
})

t.test('arguments of a new row: have the fields that are not empty', async t => {
  const draft = { ...DRAFT, quota: '', name: ' laptop ' }
  t.same(argumentsOf(FIELDS, draft), {
    name: 'laptop',
    models: ['a', 'b'],
    expires: '2999-01-31T23:59:59Z',
    limits: { requests: '60/min' },
  })
  t.same(argumentsOf([fieldIn('note=text'), fieldIn('amount*=text')], {}), { amount: '' })
})

t.test('arguments of an edited row: have the changes only', async t => {
  for (const [change, args] of [
    [{}, {}],
    [{ quota: '' }, { quota: null }],
    [{ quota_period: '' }, { quota: 1_000, quota_period: null }],
    [
      { models: '', expires: '' },
      { models: null, expires: null },
    ],
    [{ 'limits.requests': '' }, { limits: { requests: null } }],
    [{ 'limits.concurrency': '5' }, { limits: { concurrency: 5 } }],
  ] as const)
    t.same(argumentsOf(FIELDS, { ...DRAFT, ...change }, ROW), args)
})

t.test('bad input: a text that is not a number is sent unchanged, for its error', async t => {
  const draft = { ...DRAFT, name: '', quota: 'much', 'limits.concurrency': 'x' }
  t.match(argumentsOf(FIELDS, draft, ROW), {
    name: '',
    quota: 'much',
    limits: { concurrency: 'x' },
  })
})
