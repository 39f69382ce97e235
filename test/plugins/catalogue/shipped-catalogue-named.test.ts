/** Every model that the specification names is in the shipped catalogue. The names come from the
 *  document if it is present, else from a list. */
import t from 'tap'
import {
  catalogue,
  DRAWING,
  FILMING,
  modelsIn,
  SPEAKING,
  specification,
} from '../../helpers/shipped.ts'

const text = specification()
const BY_HAND = [...SPEAKING, ...DRAWING, ...FILMING]
const names = text === undefined ? BY_HAND : modelsIn(text)
const source = text === undefined ? 'the list of its names' : 'service-interface.md'

t.test(`shipped catalogue: each name in ${source} has a target and a price`, t => {
  t.comment(`${names.length} names, read from ${source}: ${names.join(' ')}`)
  // Fewer names mean that the document changed its form and the test read nothing.
  t.ok(names.length >= 20, `${names.length} names`)
  for (const name of names) {
    const { targets = [], entry } = catalogue.find(name) ?? {}
    t.ok(targets[0]?.name, `${name} is served`)
    t.ok(Object.keys(Object(entry?.options.price)).length > 0, `${name} has a price`)
  }
  t.end()
})

t.test('shipped catalogue: the list of names equals the document', t => {
  for (const name of names) t.ok(BY_HAND.includes(name), name)
  t.end()
})

t.test('shipped catalogue: names are read from backticks and examples only', t => {
  const sentence =
    '`gx-2` and gx-3, `/v1/x-1`, `540p`, `fine-tune`, `a_b`, `gp-4-gizmo-{GIZMO_ID}`, `web`'
  t.same(modelsIn(`${sentence} {"model": "vd1.5"}`), ['gx-2', 'gp-4-gizmo-g-aB3', 'vd1.5'])
  t.end()
})

t.test('shipped catalogue: text models have context and output limits', t => {
  for (const name of SPEAKING) {
    const { context = 0, output = 0, only = [] } = catalogue.find(name)?.entry.options ?? {}
    t.ok(context > 0 && (output > 0 || only.includes('embeddings')), `${name} has limits`)
  }
  t.end()
})
