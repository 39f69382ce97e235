/** Schemas of tools whose root combines others. */
import t from 'tap'
import { objectSchema } from '../../../../plugins/formats/hub/root-schema.ts'

t.test('root schema: references of a schema to itself are merged once', async t => {
  const own = { $ref: '#/$defs/node' }
  const node = { allOf: [own, own, own], anyOf: [own, own], properties: { x: { type: 'string' } } }
  const schema = { $ref: '#/$defs/node', $defs: { node } }
  t.strictSame(objectSchema(schema), {
    type: 'object',
    $defs: { node },
    properties: { x: { type: 'string' } },
  })
})
t.test(
  'root schema: a property that several alternatives define has one anyOf of their schemas',
  async t => {
    const kinds = ['a', 'b', 'c', 'b'].map(kind => ({
      type: 'object',
      properties: { kind: { const: kind }, text: { type: 'string' } },
      required: ['kind', 'text'],
    }))
    const { description, ...schema } = objectSchema({ anyOf: kinds })
    t.strictSame(schema, {
      type: 'object',
      properties: {
        kind: { anyOf: [{ const: 'a' }, { const: 'b' }, { const: 'c' }] },
        text: { type: 'string' },
      },
      required: ['kind', 'text'],
    })
    t.match(description, 'One of: ["kind","text"]')
  },
)
