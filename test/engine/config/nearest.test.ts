/** Suggestions for misspelled words. */
import t from 'tap'
import { choicesFor, nearest } from '../../../engine/config/nearest.ts'
import fc from '../../helpers/property.ts'

const KEYS = ['timeout', 'retries', 'balance', 'upstream', 'path', 'name', 'to', 'url']

t.test('suggestions: typing mistakes are recognised', async t => {
  const mistakes = {
    timout: 'timeout',
    retrys: 'retries',
    ballance: 'balance',
    upstreams: 'upstream',
    'up-stream': 'upstream',
    Path: 'path',
    pth: 'path',
    nmae: 'name',
    two: 'to',
    URL: 'url',
    uppstream: 'upstream',
  }
  for (const [misspelled, correct] of Object.entries(mistakes))
    t.equal(nearest(misspelled, KEYS), correct, misspelled)
})

t.test('suggestions: a different word is not suggested', async t => {
  for (const word of ['header', 'x', 'verbose', 'toggle', 'pipeline'])
    t.equal(nearest(word, KEYS), undefined, word)
  t.equal(nearest('path', ['path']), undefined, 'the word itself is not suggested')
  t.equal(nearest('anything', []), undefined)
  t.equal(nearest('x', ['y']), 'y', 'one letter for another')
  t.equal(nearest('xyz', ['abc']), undefined)
  t.equal(nearest('gpp', ['gp', 'cl']), 'gp')
  t.equal(nearest('opnai', ['openai', 'open']), 'openai')
})

t.test('suggestions: any single edit in a word of four letters or more is found', async t => {
  const word = fc.stringMatching(/^[a-z]{4,12}$/)
  const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz')
  fc.assert(
    fc.property(word, fc.nat(11), letter, fc.nat(3), (correct, place, other, kind) => {
      const at = place % correct.length
      const [before, here, after] = [correct.slice(0, at), correct[at], correct.slice(at + 1)]
      const edits = [before + after, before + other + after, before + other + here + after]
      const transposition = before + after.slice(0, 1) + here + after.slice(1)
      const misspelled = [...edits, transposition][kind] ?? correct
      fc.pre(misspelled !== correct)
      t.equal(nearest(misspelled, [correct]), correct, `${misspelled} for ${correct}`)
    }),
    { numRuns: 200 },
  )
})

t.test('suggestions: without a near name a message lists the first twelve names', async t => {
  const names = Array.from({ length: 14 }, (_, index) => `model-number-${index}`)
  const { choices } = choicesFor('x', 'models', names)
  t.match(choices, /^; `models:` has model-number-0, .*model-number-11, and 2 more$/)
  t.equal(choicesFor('x', 'models', []).choices, '; `models:` has none')
  t.same(choicesFor('model-number-l', 'models', names.slice(0, 2)), {
    suggestion: 'model-number-0',
    choices: '',
  })
})
