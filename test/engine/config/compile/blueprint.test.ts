/** Tests of the JSON of blueprints that processes send each other. */
import { test } from 'tap'
import {
  type Blueprint,
  createPartsEncoder,
  decodeBlueprint,
  encodeBlueprint,
  freezeAll,
  withoutTexts,
  withTexts,
} from '../../../../engine/config/compile/blueprint.ts'
import type { Document } from '../../../../engine/plugin.ts'

const encodeParts = createPartsEncoder()
const models = freezeAll({ small: { to: 'local/small' } })
const encode = (document: object, files: Record<string, string> = {}) => {
  const blueprint: Blueprint = {
    version: 7,
    hash: 'abc',
    root: '/etc/gateway',
    document: document as Document,
    plugins: [{ name: 'schema', file: 'schema.ts', bundle: '/cache/schema.js', hash: 'def' }],
    files,
  }
  const encoded = encodeBlueprint(blueprint, encodeParts(document as Document, files))
  return { blueprint, encoded }
}

test('a decoded blueprint has the same values, frozen', async t => {
  const files = { 'schemas/chat.json': '{"type":"object"}' }
  const { blueprint, encoded } = encode({ settings: { port: 80 }, models }, files)
  const decoded = decodeBlueprint(JSON.parse(JSON.stringify(encoded)))
  t.same(decoded.blueprint, blueprint)
  t.ok(Object.isFrozen((decoded.blueprint.document.models as { small: object }).small))
})

test('a section without a value is left out', async t => {
  const { encoded } = encode({ settings: undefined, models })
  t.same(Object.keys(encoded.sections), ['models'])
})

test('a receiver gets only the parts that it lacks, and keeps those it has', async t => {
  const first = encode({ settings: { port: 80 }, models }, { 'a.json': '{}' })
  const second = encode({ settings: { port: 81 }, models }, { 'a.json': '{}' })
  const message = withoutTexts(second.encoded, first.encoded)
  t.same(Object.values(message.texts), ['{"port":81}'])
  t.same(withTexts(message, first.encoded), second.encoded)
  const before = decodeBlueprint(first.encoded)
  const after = decodeBlueprint(message, before.parts)
  t.same(after.blueprint, second.blueprint)
  t.equal(after.blueprint.document.models, before.blueprint.document.models, 'the same object')
})

test('parts that the next version does not use are forgotten', async t => {
  const first = encode({ settings: { port: 80 }, models })
  const second = encode({ models })
  const completed = withTexts(withoutTexts(second.encoded, first.encoded), first.encoded)
  t.same(completed, second.encoded)
  const { parts } = decodeBlueprint(second.encoded, decodeBlueprint(first.encoded).parts)
  t.equal(parts.size, Object.keys(second.encoded.texts).length)
})

test('equal sections and files share one text', async t => {
  const { blueprint, encoded } = encode({ models, notes: models, tags: {} }, {})
  t.equal(Object.keys(encoded.texts).length, 2)
  t.same(decodeBlueprint(encoded).blueprint, blueprint)
})

test('a part that is nowhere is an error, not an empty section', async t => {
  const { encoded } = encode({ models })
  const message = withoutTexts(encoded, encoded)
  t.same(message.texts, {})
  t.throws(() => decodeBlueprint(message), { message: /part of the blueprint is missing/ })
})
