/** Sections that are valid are validated once; what they name stays known. */
import t from 'tap'
import { freezeAll } from '../../../../engine/config/compile/blueprint.ts'
import { createSectionValidator } from '../../../../engine/config/validation/sections.ts'
import { createValidator, type Validator } from '../../../../engine/config/validation/validator.ts'
import type { Document, Plugin } from '../../../../engine/plugin.ts'

const PLUGIN = {
  schema: { type: 'object' },
  sections: {
    words: { type: 'object', additionalProperties: { type: 'string', format: 'file' } },
    keys: { type: 'array', items: { type: 'string', format: 'password' } },
  },
  setup: () => ({}),
} as unknown as Plugin

/** Counts the sections that the validator was given. */
const createCounted = (folder: string): Validator & { readonly validated: string[] } => {
  const { validate, schemaErrors } = createValidator(new Map([['own', PLUGIN]]), [], folder)
  const validated: string[] = []
  return {
    schemaErrors,
    validated,
    validate: document => {
      for (const [name, value] of Object.entries(document))
        if (!Array.isArray(value) || value.length > 0) validated.push(name)
      return validate(document)
    },
  }
}
const freeze = (document: object): Document => freezeAll(document as unknown as Document)
const keywords = ({ errors }: { readonly errors: readonly { readonly keyword: string }[] }) =>
  errors.map(({ keyword }) => keyword)

t.test('sections: one that is valid is not validated again, and its names stay', async t => {
  const validate = createSectionValidator()
  const validator = createCounted(t.testdir())
  const words = freeze({ a: 'a.json' })
  const first = freeze({ routes: [], words, keys: ['secret-1'] })
  for (const _ of ['first', 'again']) {
    const { errors, fileNames, secrets } = validate(first, '1', validator)
    t.same(errors, [])
    t.same([...fileNames, ...secrets], ['a.json', 'secret-1'])
  }
  t.same(validator.validated.splice(0), ['words', 'keys'])
  const second = validate(freeze({ routes: [], words, keys: ['secret-2'] }), '1', validator)
  t.same([...second.fileNames, ...second.secrets], ['a.json', 'secret-2'], 'none of the old ones')
  t.same(validator.validated.splice(0), ['keys'])
  validate(first, '2', validator)
  t.same(validator.validated, ['words', 'keys'], 'other plugins may have another schema')
})

t.test('sections: errors have their places, each time', async t => {
  const validate = createSectionValidator()
  const validator = createCounted(t.testdir())
  const broken = freeze({ routes: [], words: { a: 5 }, keys: ['secret'], other: 1 })
  for (const _ of ['first', 'again']) {
    const { errors } = validate(broken, '1', validator)
    const places = errors.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
    t.same(places.sort(), [' additionalProperties', '/words/a type'])
  }
})

t.test('sections: what is not frozen may change, and is validated each time', async t => {
  const validate = createSectionValidator()
  const validator = createCounted(t.testdir())
  const words: Record<string, unknown> = { a: 'a.json' }
  const document = { routes: [], words } as unknown as Document
  t.same(validate(document, '1', validator).errors, [])
  words.b = 5
  t.same(keywords(validate(document, '1', validator)), ['type'])
})

t.test('sections: a document needs routes, and they are sections too', async t => {
  const validate = createSectionValidator()
  const validator = createCounted(t.testdir())
  t.same(keywords(validate(freeze({ keys: ['a'] }), '1', validator)), ['required'])
  const { errors } = validate(freeze({ keys: ['a'], routes: [{ path: 5 }] }), '1', validator)
  t.ok(errors.every(({ instancePath }) => instancePath.startsWith('/routes/0')))
  t.ok(errors.length > 0)
})
